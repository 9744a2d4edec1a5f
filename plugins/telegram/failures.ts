/** Errors of the Bot API, as errors of the gateway. Pure. No error carries a URL, because URLs contain the token. */
import { GatewayError } from "@svc/sdk";

/** The properties of the library's `GrammyError`. */
interface Refusal {
  readonly error_code: number;
  readonly description: string;
  readonly parameters: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

/** Next step by description of the error; the first match counts. */
const NEXT_STEPS: readonly (readonly [description: RegExp, next: string])[] = [
  [/blocked by the user|deactivated/i, "the person must open the chat with the bot and press Start"],
  [/can't initiate conversation/i, "the person must write to the bot first"],
  [/can't send messages to bots/i, "choose a person or a group"],
  [/chat not found/i, "check the id; a person must have written to the bot, and a group must contain it"],
  [/kicked|not a member|chat was deleted/i, "add the bot to the group again"],
  [/rights|forbidden|admin_required|restricted/i, "give the bot this permission in the settings of the group"],
  [/thread not found|topic/i, "the topic is closed or gone; choose another one"],
  [/file is too big/i, "Telegram gives bots files of up to 20 MB only; ask for a smaller file or a link"],
  [/too large|entity too large/i, "send a smaller file"],
  [/reaction_invalid/i, "Telegram accepts a fixed set of emoji, and a group can restrict it; choose another one"],
  [/webhook|secret.token/i, "check webhookUrl and webhookSecret of the account"],
];
const GONE = /message to (?:edit|react|delete) not found|message can't be (?:edited|deleted)|message_id_invalid/i;

/** @param method for the message, e.g. `sendMessage` */
export function refusalError({ error_code: code, description, parameters }: Refusal, method: string): GatewayError {
  const said = `Telegram refuses ${method}: ${description}`;
  if (code === 401 || (code === 404 && description === "Not Found"))
    return new GatewayError(
      "NOT_LINKED",
      `Telegram refuses the token of the bot (${description}); copy it again from @BotFather (/mybots, API Token) into botToken`,
    );
  if (code === 429) {
    const { retry_after: seconds = 1 } = parameters;
    return new GatewayError("UNAVAILABLE", said, { retryAfterMs: seconds * 1_000 });
  }
  if (code === 409)
    return new GatewayError("UNAVAILABLE", `${said}; stop the other program that uses this token, or make a new token`);
  if (code >= 500) return new GatewayError("UNAVAILABLE", said);
  if (GONE.test(description)) return new GatewayError("NOT_FOUND", said);
  const [, next] = NEXT_STEPS.find(([pattern]) => pattern.test(description)) ?? [];
  return new GatewayError("INVALID_REQUEST", next === undefined ? said : `${said}; ${next}`);
}

/** @param cause the error below the library's `HttpError`; its message may contain the URL */
export function unreachable(cause: unknown): GatewayError {
  const { code, type } = Object(cause) as { readonly code?: unknown; readonly type?: unknown }; // any thrown value
  const why = [code, type, "timeout"].find((one): one is string => typeof one === "string" && /^[\w-]+$/.test(one));
  return new GatewayError("UNAVAILABLE", `Telegram does not answer (${why})`);
}

/** The description of a `GrammyError`; empty for anything else. */
export function descriptionOf(error: unknown): string {
  const { description } = Object(error) as { readonly description?: unknown }; // any thrown value
  return typeof description === "string" ? description : "";
}
