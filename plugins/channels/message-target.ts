/** Where the tool `message` sends to: what it was told, and what is known of where its caller is. Pure. Spec: http/sessions-routing.md §8. */
import type { ToolAddress } from "@svc/sdk/tools";
import type { LastRoute } from "./addressing.ts";

/** Where a text goes; what is absent nobody knows. `inheritedThread`: of the place, not asked for. */
export interface Target extends ToolAddress {
  readonly inheritedThread?: string;
}

/** The channel of clients of this gateway itself: nobody can be written to there. */
const INTERNAL = "webchat";
/** Stands for where the session was spoken to last. */
const LAST = "last";

/**
 * What is not said comes from where the caller is, else from where its session was spoken to last; a recipient, an account
 * and a thread only from a place on the same channel, and a thread only with its recipient.
 * @param asked what a model or a program said; blank means not said
 * @param idOf the channel a name means
 */
export function targetOf(
  asked: ToolAddress,
  address: ToolAddress | undefined,
  last: LastRoute | undefined,
  idOf: (name: string) => string | undefined,
): Target {
  const wanted = said(asked.channel);
  const isLast = wanted?.toLowerCase() === LAST;
  const places = [isLast ? undefined : address, last].filter((place) => isPlace(place));
  const channel = isLast ? last?.channel : (wanted ?? places.map((place) => said(place.channel)).find(Boolean));
  const id = (name: string) => idOf(name) ?? name;
  // An address without a channel is meant for whichever it becomes.
  const same = (name: string | undefined) => name === undefined || (channel !== undefined && id(name) === id(channel));
  const place = places.find((known) => same(said(known.channel)) && (said(asked.to) !== undefined || said(known.to)));
  const to = said(asked.to) ?? said(place?.to);
  const accountId = said(asked.accountId) ?? said(place?.accountId);
  const threadId = said(asked.threadId);
  const inheritedThread = to === said(place?.to) && threadId === undefined ? said(place?.threadId) : undefined;
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(to === undefined ? {} : { to }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(inheritedThread === undefined ? {} : { inheritedThread }),
  };
}

function isPlace(place: ToolAddress | undefined): place is ToolAddress {
  return place !== undefined && said(place.channel)?.toLowerCase() !== INTERNAL;
}

function said(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}
