/** Tells a session what became of a change. */
import { isGatewayError, type Logger, type ParamsOf } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";

export interface NoteOptions {
  /** `chat.inject`. @throws GatewayError where there is no such method or session */
  inject(params: ParamsOf<typeof chat.inject>): Promise<unknown>;
  /** Key of the main session; `undefined` while nobody keeps sessions. */
  mainSession(): string | undefined;
  readonly log: Logger;
}

/** What is told to whom. */
export interface Note {
  readonly message?: string | null;
  readonly sessionKey?: string;
}

/**
 * Posts a note as an assistant message to its session; where that fails, to the main session. Nothing to tell: does nothing.
 * Never rejects: a note that reaches nobody stands in the log.
 */
export async function postNote(
  { message, sessionKey }: Note,
  { inject, mainSession, log }: NoteOptions,
): Promise<void> {
  if (!message?.trim()) return;
  const targets = new Set([sessionKey?.trim(), mainSession()]);
  let why = "there is no session to tell";
  for (const target of targets) {
    if (!target) continue;
    try {
      await inject({ sessionKey: target, message });
      return;
    } catch (error) {
      why = isGatewayError(error) ? error.message : String(error);
    }
  }
  log.warn({ note: message, sessionKey, why }, "a note on a configuration change could not be posted");
}
