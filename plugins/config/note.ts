/** Notifies a session of the outcome of a change. */
import { isGatewayError, type Logger, type ParamsOf } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";

export interface NoteOptions {
  /** Calls `chat.inject`. @throws GatewayError when the method or the session does not exist */
  inject(params: ParamsOf<typeof chat.inject>): Promise<unknown>;
  /** Key of the main session; `undefined` while no plugin provides sessions. */
  mainSession(): string | undefined;
  readonly log: Logger;
}

/** A message, and the session to which it is posted. */
export interface Note {
  readonly message?: string | null;
  readonly sessionKey?: string;
}

/**
 * Posts a note as an assistant message to its session, or to the main session if that fails. Does nothing for a blank note.
 * Never rejects: a note that could not be posted is logged.
 */
export async function postNote(
  { message, sessionKey }: Note,
  { inject, mainSession, log }: NoteOptions,
): Promise<void> {
  if (!message?.trim()) return;
  const targets = new Set([sessionKey?.trim(), mainSession()]);
  let why = "there is no session to notify";
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
