/**
 * `/trust` and `/status`: list the origins of the messages in a conversation, and trust them like the owner's. Spec:
 * design/security.md. Choice: both commands.
 */
import { floorOf, type Origin, originName } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";

/** Choice: number of messages that are examined, and of authors that are listed. */
const MAX_MESSAGES = 500;
const MAX_NAMED = 10;

/** The origins with less authority than the owner, the least first; empty: only the owner. */
async function authorsOf(key: string, sessions: Pick<Sessions, "context">): Promise<readonly Origin[]> {
  const { origin, items } = await sessions.context(key, MAX_MESSAGES);
  // Answers are included: they are all that is left of events, which are not messages.
  const all = [origin, ...items.map(({ message }) => message.origin)];
  const lower = all.filter((one): one is Origin => floorOf([one]) !== undefined);
  const byName = new Map(lower.map((one) => [originName(one), one]));
  return [...byName.values()].toSorted((left, right) => left.scopes.length - right.scopes.length);
}

function listed(authors: readonly Origin[]): string {
  const more = authors.length - MAX_NAMED;
  return [...authors.slice(0, MAX_NAMED).map(originName), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/**
 * From now on, the messages of others that are in the conversation count as the owner's.
 * @param by `now`: epoch ms; `runId`: a repetition with the same id changes nothing, so it trusts no later message
 * @returns the reply
 */
export async function trustAuthors(
  key: string,
  sessions: Pick<Sessions, "context" | "ensure" | "get">,
  { now, runId }: { readonly now: number; readonly runId: string },
): Promise<string> {
  const [entry, authors] = await Promise.all([sessions.get(key), authorsOf(key, sessions)]);
  if (authors.length === 0) return "This conversation contains only your own messages. Nothing has changed.";
  if (entry?.["trustedByRunId"] !== runId) await sessions.ensure(key, { trustedAt: now, trustedByRunId: runId });
  return `Trusted: the messages of ${listed(authors)} in this conversation now count as yours. Later messages do not.`;
}

/** @returns one sentence on who wrote the messages */
export async function authorsText(key: string, sessions: Pick<Sessions, "context">): Promise<string> {
  const authors = await authorsOf(key, sessions);
  if (authors.length === 0) return `Session ${key}: it contains only messages of the owner.`;
  return (
    `Session ${key}: it contains messages of ${listed(authors)}. You are asked before a tool does something they may not request ` +
    "(tools.fromOutside). /trust treats their messages as yours; /new starts a conversation without them."
  );
}
