/** Handler of `chat.send`: a message becomes a run, a command's answer or a stop. Spec: protocol/methods-chat.md §2. */
import {
  type Call,
  type chat,
  GatewayError,
  type Handler,
  invalidRequest,
  type ParamsOf,
  type ResultOf,
} from "@svc/sdk";
import {
  type AgentRuns,
  type ImageBlock,
  readAttachments,
  type RunRequest,
  type RunState,
  type Sessions,
} from "@svc/sdk/services";
import type { Aborts } from "./abort.ts";
import type { CommandLog } from "./command-log.ts";
import { type Command, commandIn, commandReply } from "./commands.ts";
import { injectedMessage } from "./injected.ts";
import { cleanMessage, isBlank } from "./input.ts";
import type { SentRuns } from "./sent-runs.ts";
import { isStopRequest } from "./stop-phrases.ts";
import { type ChatPayload, shownMessage } from "./stream.ts";

type SendCall = Call<ParamsOf<typeof chat.send>>;
type SendResult = ResultOf<typeof chat.send>;

export interface SendOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "reset" | "append">;
  readonly runs: Pick<AgentRuns, "start" | "state">;
  readonly sent: SentRuns;
  readonly aborts: Pick<Aborts, "all">;
  readonly commands: CommandLog;
  readonly clock: { now(): number };
  readonly log: { info(fields: object, message: string): void };
  /** Sends a `chat` event once the answer to the call is on its way, so that clients know the run id first. */
  readonly emitSoon: (payload: ChatPayload) => void;
}

/** A request whose parts were checked. */
interface Accepted {
  readonly call: SendCall;
  /** Canonical. */
  readonly key: string;
  readonly message: string;
  readonly images: readonly ImageBlock[];
}

export function createSend(options: SendOptions): Handler<typeof chat.send> {
  const { sessions, aborts, log } = options;
  /** Requests that are being accepted, by idempotency key: a second one waits and gets the same outcome. */
  const accepting = new Map<string, Promise<SendResult>>();

  async function check(call: SendCall): Promise<Accepted> {
    const message = cleanMessage(call.params.message);
    const { images, dropped } = readAttachments(call.params.attachments);
    for (const reason of dropped) log.info({ runId: call.params.idempotencyKey }, `attachment left out: ${reason}`);
    if (isBlank(message) && images.length === 0) {
      const why = dropped.length > 0 ? ` and ${dropped[0]}` : "";
      invalidRequest(`message is empty${why}; write something or attach an image`);
    }
    const key = sessions.canonicalKey(call.params.sessionKey);
    const entry = await sessions.get(key);
    if (entry?.sendPolicy === "deny") {
      invalidRequest(
        `sending to session "${call.params.sessionKey}" is switched off (sendPolicy "deny"); an admin can allow it`,
      );
    }
    return { call, key, message, images };
  }

  return async (call) => {
    const accepted = await check(call);
    const { sessionKey, idempotencyKey: runId } = call.params;
    if (isStopRequest(accepted.message)) return aborts.all(sessionKey, "stop");

    const first = accepting.get(runId);
    if (first) {
      const result = await first;
      return "ok" in result || result.status !== "started" ? result : { runId, status: "in_flight" };
    }
    const outcome = accept(options, accepted).finally(() => accepting.delete(runId));
    accepting.set(runId, outcome);
    return outcome;
  };
}

async function accept(options: SendOptions, accepted: Accepted): Promise<SendResult> {
  const { sessions, runs, commands } = options;
  const { call, key, message, images } = accepted;
  const runId = call.params.idempotencyKey;
  const run = await runs.state(runId);
  if (run) return repeated(run, key);
  const answered = await commands.find(runId);
  if (answered) return repeated({ ...answered, runId, origin: "chat", status: "ok" }, key);

  const command = commandIn(message);
  if (!command) return startRun(options, accepted);
  if (command.kind === "restart") {
    await sessions.reset(key, command.reason);
    if (command.text !== "" || images.length > 0) return startRun(options, { ...accepted, message: command.text });
  }
  return answerCommand(options, accepted, command);
}

async function startRun({ runs, sent }: SendOptions, { call, key, message, images }: Accepted): Promise<SendResult> {
  const { sessionKey, idempotencyKey: runId, thinking, timeoutMs } = call.params;
  const { connection, principal } = call;
  const isDirective = call.params.message.trimStart().startsWith("/"); // Spec: `thinking` is not for those
  const request: RunRequest = {
    runId,
    sessionKey: key,
    message,
    origin: "chat",
    principal,
    ...(images.length === 0 ? {} : { images }),
    ...(thinking === undefined || isDirective ? {} : { thinking }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(connection?.caps.includes("tool-events") ? { connectionId: connection.id } : {}),
  };
  const starting = runs.start(request);
  sent.add(runId, sessionKey, starting); // before it resolves: the first events may come earlier
  try {
    const { fresh, state } = await starting;
    if (fresh) return { runId, status: "started" };
    sent.delete(runId);
    return repeated(state, key);
  } catch (error) {
    sent.delete(runId);
    throw error;
  }
}

/** No run: the reply goes into the transcript and out as one `final` under the caller's own key. Spec: events.md §4. */
async function answerCommand(options: SendOptions, { call, key }: Accepted, command: Command): Promise<SendResult> {
  const { sessions, commands, clock, emitSoon } = options;
  const { sessionKey, idempotencyKey: runId } = call.params;
  const now = clock.now();
  const text = commandReply(command);
  await sessions.append(
    key,
    [injectedMessage(text, now)],
    commands.record({ runId, sessionKey: key, answeredAt: now }),
  );
  emitSoon({ runId, sessionKey, seq: 1, state: "final", message: shownMessage(text, now) });
  return { runId, status: "started" };
}

/**
 * Answer to a key that was used before. Spec: protocol/methods-chat.md §2, frames-and-connect.md §14.
 * Choice: a key that belongs to another session or another kind of run is refused, because this message would
 * be lost; keys are remembered as long as runs are, not five minutes; an aborted run counts as ended badly.
 * @throws GatewayError `INVALID_REQUEST`, or `UNAVAILABLE` with `{ runId, status: "error", summary }` as payload
 */
function repeated(run: RunState, key: string): SendResult {
  const { runId, status } = run;
  if (run.origin !== "chat" || run.sessionKey !== key) {
    invalidRequest(
      `idempotencyKey ${runId} was already used for ${run.origin} in "${run.sessionKey}"; choose a new one`,
    );
  }
  if (status === "accepted" || status === "running") return { runId, status: "in_flight" };
  if (status === "ok") return { runId, status: "ok" };
  const summary = run.error ?? (status === "error" ? "the run failed" : `the run was ${status}`);
  throw new GatewayError("UNAVAILABLE", `${summary}; send again with a new idempotencyKey`, {
    payload: { runId, status: "error", summary },
  });
}
