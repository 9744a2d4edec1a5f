/** Posts that were written or changed while the account was not connected. */
import { repeated } from "@svc/kit/channels";
import { type Logger, matches } from "@svc/sdk";
import { find, type RequestContext } from "./api.ts";
import type { Settings } from "./config.ts";
import type { Cursor } from "./cursor.ts";
import { changesOf, type NetworkEvent, Post } from "./events.ts";
import { timeOf } from "./submit.ts";
import { idOf } from "./translate.ts";

/** The server returns at most this many changed posts of a channel. */
const MAX_MISSED = 1_000;

export interface CatchUpSources {
  readonly settings: Settings;
  readonly request: RequestContext;
  readonly cursor: Cursor;
  readonly log: Logger;
  readonly submit: (event: NetworkEvent) => Promise<void>;
}

/**
 * Submits missed posts and changes, channel by channel, the oldest first: in all channels with newer posts, and in those
 * with recent events, because an edit or deletion does not show in the list of channels. Reactions are not fetched.
 * @returns ids of the submitted messages; the stream has those that were written meanwhile, too
 */
export async function catchUp({ settings, request, cursor, log, submit }: CatchUpSources): Promise<Set<string>> {
  const { since } = cursor;
  const caught = new Set<string>();
  if (since === undefined) return caught;
  const insist = <T>(work: () => Promise<T>) => repeated(work, { ...request, log });
  // A server without this list still has the channels with recent events.
  const all = (await insist(() => find(settings, request, (client) => client.getAllTeamsChannels()))) ?? [];
  const active = all.filter(({ last_post_at: at }) => at > since).map(({ id }) => id);
  const read: Post[] = [];
  for (const channelId of new Set([...active, ...cursor.channels])) {
    const list = await insist(() => find(settings, request, (client) => client.getPostsSince(channelId, since)));
    const posts = Object.values(list?.posts ?? {}).filter((post: unknown): post is Post => matches(Post, post));
    if (posts.length >= MAX_MISSED)
      log.warn(
        {},
        `${MAX_MISSED} posts of the Mattermost channel ${channelId} were missed, perhaps more; those are lost`,
      );
    for (const post of posts.toSorted((one, other) => one.create_at - other.create_at))
      for (const event of changesOf(post, since)) {
        const id = idOf(event);
        if (cursor.has(id)) continue;
        await submit(event);
        caught.add(id);
      }
    read.push(...posts);
  }
  // Only now: a run that ends earlier starts again from the same time.
  for (const post of read) cursor.advance(timeOf(post), post.channel_id);
  return caught;
}
