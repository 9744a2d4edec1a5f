/** Checks of the params of `chat.send`, and what they add to the message. No I/O but reading the quoted message. */
import { floorOf, invalidRequest, notFound, type Origin, originOf, type ParamsOf, type Principal } from "@svc/sdk";
import type { chat } from "@svc/sdk/chat";
import { textOf } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { replyText, withoutDirectives } from "./display-text.ts";

export type SendParams = ParamsOf<typeof chat.send>;

/** Params for what this gateway does not have, with the value that asks for nothing. */
const UNSUPPORTED: readonly (readonly [param: keyof SendParams, harmless?: unknown])[] = [
  ["fastMode", false],
  ["fastAutoOnSeconds"],
  ["intent"],
  ["mentions"],
  ["toolBindings"],
  ["systemInputProvenance"],
  ["systemProvenanceReceipt"],
  ["originatingChannel"],
  ["originatingTo"],
  ["originatingAccountId"],
  ["originatingThreadId"],
  ["expectedSessionRoutingContract"],
  ["expectedPermissionMode", null],
  ["expectedToolOverrides", null],
];

/** @throws GatewayError `INVALID_REQUEST` that names the param */
export function refuseUnsupported(params: SendParams): void {
  for (const [param, harmless] of UNSUPPORTED) {
    if (params[param] === undefined || params[param] === harmless) continue;
    invalidRequest(`chat.send: \`${param}\` is not supported by this gateway; send without it`);
  }
}

/** Why the message must not be added to the conversation as it is now; `undefined`: it may. @param lastId id of the last message */
export function movedOn(
  { sessionId, expectedLeafEntryId: expected, queueMode }: SendParams,
  entry: SessionEntry | undefined,
  lastId: string | null,
): string | undefined {
  if (sessionId !== undefined && entry && entry.sessionId !== sessionId)
    return `the session has a new conversation since "${sessionId}"; read chat.history again, then send with its sessionId`;
  if (expected === undefined || queueMode === "steer" || expected === lastId) return undefined;
  return "the conversation has newer messages; read chat.history again, then send with the id of the last one";
}

/** Text of a message for the agent. */
export interface Said {
  readonly message: string;
  /** Set if the text has words of somebody with less authority than the sender. */
  readonly origin?: Origin | undefined;
}

/**
 * The message with a quote of the one it replies to, and with what the person has open. Choice: both are part of the text, so that the
 * agent finds them in every later turn, too.
 * @throws GatewayError `NOT_FOUND` for a quoted message that is not in the conversation
 */
export async function withContext(
  message: string,
  { replyToId, workContext }: SendParams,
  { sessions, key, principal }: { sessions: Pick<Sessions, "message">; key: string; principal: Principal },
): Promise<Said> {
  const quoted = replyToId === undefined ? undefined : await quoteOf(sessions, key, replyToId);
  const open = workContext && openText(workContext);
  const parts = [quoted?.text, message, open].filter((part) => part);
  const origin = quoted?.origin && floorOf([originOf(principal), quoted.origin]);
  return { message: parts.join("\n\n"), origin };
}

/** Choice: characters of a quote. */
const QUOTE_CHARS = 500;

async function quoteOf(sessions: Pick<Sessions, "message">, key: string, id: string) {
  const message =
    (await sessions.message(key, id)) ?? notFound(`there is no message "${id}" to reply to; read chat.history again`);
  const text = (message.role === "user" ? withoutDirectives : replyText)(textOf(message)).trim();
  const cut = text.length > QUOTE_CHARS ? `${text.slice(0, QUOTE_CHARS)}...` : text;
  return { text: cut && cut.replace(/^/gm, "> "), origin: message.origin };
}

function openText(context: NonNullable<SendParams["workContext"]>): string {
  const facts = Object.entries(context).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `[The sender has open: ${facts.join(", ")}]`;
}
