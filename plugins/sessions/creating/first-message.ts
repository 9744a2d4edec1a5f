/** The first message of `sessions.create`: starts a run, as `chat.send` does. */
import { randomUUID } from "node:crypto";
import { readAttachments } from "@svc/kit/media";
import {
  type Call,
  invalidRequest,
  isGatewayError,
  type Live,
  type ResultOf,
  toErrorShape,
  unavailable,
} from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { ChatCommands } from "@svc/sdk/commands";
import type { ImageBlock } from "@svc/sdk/models";
import type { sessions } from "@svc/sdk/sessions";
import { type CreatedSession, type CreateParams, derivedId } from "./create-session.ts";

/** A message that was checked. */
export interface FirstMessage {
  readonly text: string;
  readonly images: readonly ImageBlock[];
}

type Started = Pick<ResultOf<typeof sessions.create>, "runStarted" | "runId" | "runError">;

export interface SendOptions {
  readonly runs: Live<Pick<AgentRuns, "start">>;
  readonly commands: Live<Pick<ChatCommands, "parse">>;
  /** Whether the gateway may speak in the session. */
  readonly mayAnswer: (session: CreatedSession) => boolean;
}

/** @returns `undefined` without a message. @throws GatewayError `INVALID_REQUEST` for attachments that cannot be used */
export function readFirstMessage({ message = "", attachments = [] }: CreateParams): FirstMessage | undefined {
  const { images, dropped } = readAttachments(attachments);
  if (message.trim() !== "" || images.length > 0) return { text: message, images };
  if (attachments.length > 0)
    invalidRequest(
      `no attachment can be used${dropped[0] === undefined ? "" : `: ${dropped[0]}`}; attach an image or write a message`,
    );
  return undefined;
}

/**
 * Starts the run. The session exists already, so a refusal is part of the result. Choice: commands are refused, because a new
 * session needs none.
 */
export async function sendFirst(
  { runs, commands, mayAnswer }: SendOptions,
  session: CreatedSession,
  { text, images }: FirstMessage,
  { params, principal, connection }: Call<CreateParams>,
): Promise<Started> {
  const { idempotencyKey, timeoutMs } = params;
  const runId = idempotencyKey === undefined ? randomUUID() : derivedId(principal.id, session.key, idempotencyKey);
  try {
    if (!mayAnswer(session)) invalidRequest(`sending to session "${session.key}" is disabled (sendPolicy "deny")`);
    if (commands.get()?.parse(text)) invalidRequest("a command cannot be the first message; send it with chat.send");
    const service = runs.get() ?? unavailable("no running plugin runs agents; enable the plugin agents");
    await service.start({
      runId,
      sessionKey: session.key,
      message: text,
      source: "chat",
      principal,
      ...(images.length > 0 && { images }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(connection?.caps.includes("tool-events") && { connectionId: connection.id }),
    });
    return { runStarted: true, runId };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { runStarted: false, runError: toErrorShape(error) };
  }
}
