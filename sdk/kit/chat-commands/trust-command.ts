/** `/trust` and `/status`: whose words a conversation holds, and taking them for the owner's. Spec: design/security.md. Choice: both words. */
import { coversScope, floorOf, type Origin, originName, type Principal } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";

/** Choice: messages that are looked at, and authors that are named. */
const MAX_MESSAGES = 500;
const MAX_NAMED = 10;

type SessionsToTrust = Pick<Sessions, "context" | "ensure">;

/** Words of whom, with the least authority first; empty: of the owner. */
async function authorsOf(key: string, sessions: SessionsToTrust): Promise<readonly Origin[]> {
  const { origin, items } = await sessions.context(key, MAX_MESSAGES);
  // Answers count: of events, which are no messages, nothing else is left.
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
    return "Only the owner of this gateway can trust a conversation, as a client with operator.admin: svc chat. /new starts one without the words of others.";
  }
  const authors = await authorsOf(key, sessions);
  if (authors.length === 0) return "This conversation holds your words only. Nothing has changed.";
  await sessions.ensure(key, { trustedAt: now });
  return `Trusted: the words of ${listed(authors)} in this conversation count as yours now. Words that come later do not.`;
}

/** @returns the reply */
export async function status(key: string, sessions: SessionsToTrust): Promise<string> {
  const authors = await authorsOf(key, sessions);
  if (authors.length === 0) return `Session ${key}: it holds the owner's words only.`;
  return (
    `Session ${key}: it holds words of ${listed(authors)}. You are asked before a tool does what they may not ask for ` +
    "(tools.fromOutside). /trust takes their words for yours; /new starts a conversation without them."
  );
}
