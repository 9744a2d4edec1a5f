/**
 * `/trust` and `/status`: list the origins of the messages in a conversation, and trust them like the owner's. Spec:
 * design/security.md. Choice: both commands.
 */
import { coversScope, floorOf, type Origin, originName, type Principal } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";

/** Choice: number of messages that are examined, and of authors that are listed. */
const MAX_MESSAGES = 500;
const MAX_NAMED = 10;

type SessionsToTrust = Pick<Sessions, "context" | "ensure">;

/** The origins with less authority than the owner, the least first; empty: only the owner. */
async function authorsOf(key: string, sessions: SessionsToTrust): Promise<readonly Origin[]> {
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

/** @param now epoch ms. @returns the reply */
export async function trust(
  key: string,
  sessions: SessionsToTrust,
  { principal, now }: { readonly principal: Principal; readonly now: number },
): Promise<string> {
  if (!coversScope(principal.scopes, "operator.admin")) {
    return "Only the owner of this gateway can trust a conversation, as a client with operator.admin: svc chat. /new starts a conversation without messages of others.";
  }
  const authors = await authorsOf(key, sessions);
  if (authors.length === 0) return "This conversation contains only your own messages. Nothing has changed.";
  await sessions.ensure(key, { trustedAt: now });
  return `Trusted: the messages of ${listed(authors)} in this conversation now count as yours. Later messages do not.`;
}

/** @returns the reply */
export async function status(key: string, sessions: SessionsToTrust): Promise<string> {
  const authors = await authorsOf(key, sessions);
  if (authors.length === 0) return `Session ${key}: it contains only messages of the owner.`;
  return (
    `Session ${key}: it contains messages of ${listed(authors)}. You are asked before a tool does something they may not request ` +
    "(tools.fromOutside). /trust treats their messages as yours; /new starts a conversation without them."
  );
}
