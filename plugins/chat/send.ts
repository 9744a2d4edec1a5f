/** Handler of `chat.send`: a message starts a run, executes a command, or stops runs. Spec: protocol/methods-chat.md §2. */
import { type Command, commandIn, obey } from "@svc/kit/chat-commands";
import { readAttachments } from "@svc/kit/media";
import { type Call, type Handler, invalidRequest, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { AgentRuns, QueueMode, RunRequest, RunState } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";
import {
  type ImageBlock,
  injectedMessage,
  parseThinkingLevel,
  THINKING_LEVELS,
  type ThinkingLevel,
} from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Aborts } from "./abort.ts";
import type { CommandLog } from "./command-log.ts";
import { cleanMessage, isBlank } from "./input.ts";
import { repeated } from "./repeated.ts";
import type { SentRuns } from "./sent-runs.ts";
import { type ChatPayload, shownMessage } from "./stream.ts";

type SendCall = Call<ParamsOf<typeof chat.send>>;
type SendResult = ResultOf<typeof chat.send>;

/** Name of this channel. */
const CHANNEL = "webchat";

export interface SendOptions {
  readonly sessions: Pick<
    Sessions,
    "canonicalKey" | "get" | "freshen" | "sendPolicy" | "reset" | "ensure" | "append" | "context"
  >;
  readonly runs: Pick<AgentRuns, "start" | "state" | "active" | "queueMode" | "wait">;
  readonly sent: SentRuns;
  readonly aborts: Pick<Aborts, "all">;
  readonly commands: CommandLog;
  readonly clock: { now(): number };
  readonly log: { info(fields: object, message: string): void };
  /** Sends a `chat` event after the response to the call, so that clients know the run id first. */
  readonly emitSoon: (payload: ChatPayload) => void;
}

/** A checked request. */
interface Checked {
  readonly call: SendCall;
  /** Canonical. */
  readonly key: string;
  readonly message: string;
  readonly images: readonly ImageBlock[];
  readonly thinking: ThinkingLevel | undefined;
  readonly command: Command | undefined;
}

interface Accepted extends Checked {
  /** Set when a queue mode was chosen for the session. */
  readonly queue: QueueMode | undefined;
}

export function createSend(options: SendOptions): Handler<typeof chat.send> {
  /** Requests being accepted, by idempotency key: a repeated request waits and gets the same outcome. */
  const accepting = new Map<string, Promise<SendResult>>();

  return async (call) => {
    const { idempotencyKey: runId } = call.params;
    const first = accepting.get(runId);
    if (first) {
      const result = await first;
      return "ok" in result || result.status !== "started" ? result : { runId, status: "in_flight" };
    }
    const outcome = accept(options, check(call, options)).finally(() => accepting.delete(runId));
    accepting.set(runId, outcome);
    return outcome;
  };
}

/** @throws GatewayError `INVALID_REQUEST` */
function check(call: SendCall, { sessions, log }: SendOptions): Checked {
  const message = cleanMessage(call.params.message);
  const { images, dropped } = readAttachments(call.params.attachments);
  for (const reason of dropped) log.info({ runId: call.params.idempotencyKey }, `attachment dropped: ${reason}`);
  if (isBlank(message) && images.length === 0) {
    const why = dropped.length > 0 ? ` and ${dropped[0]}` : "";
    invalidRequest(`message is empty${why}; write something or attach an image`);
  }
  const thinking = thinkingLevel(call.params.thinking);
  const key = sessions.canonicalKey(call.params.sessionKey);
  return { call, key, message, images, thinking, command: commandIn(message) };
}

function thinkingLevel(word: string | undefined): ThinkingLevel | undefined {
  if (word === undefined || isBlank(word)) return undefined;
  return (
    parseThinkingLevel(word) ??
    invalidRequest(`unknown thinking level "${word}"; levels: ${THINKING_LEVELS.join(", ")}`)
  );
}

/** Reads storage once and writes it once before the response. */
async function accept(options: SendOptions, checked: Checked): Promise<SendResult> {
  const { sessions, runs, commands, aborts } = options;
  const { call, key, command } = checked;
  const { sessionKey, idempotencyKey: runId } = call.params;
  const isBusy = runs.active(key).length > 0;
  // A busy session is not stale; a command that resets it, or stops runs, needs it unchanged.
  const isForAgent = command === undefined || command.kind === "compact";
  const isInbound = isForAgent && !isBusy;
  const [entry, answered, mode, run] = await Promise.all([
    isInbound ? sessions.freshen(key, { channel: CHANNEL }).then((fresh) => fresh.entry) : sessions.get(key),
    commands.find(runId),
    isForAgent ? runs.queueMode(key, CHANNEL) : undefined,
    isForAgent ? undefined : runs.state(runId), // for other messages, `start` returns it
  ]);
  if (sessions.sendPolicy(key, entry) === "deny") {
    invalidRequest(`sending to session "${sessionKey}" is disabled (sendPolicy "deny"); an admin can allow it`);
  }
  if (command?.kind === "stop") return aborts.all(sessionKey, "stop");
  if (run) return repeated(run, key, runs);
  if (answered) return repeated({ ...answered, runId, source: "chat", status: "ok" }, key, runs);

  // Choice: without any setting each message gets its own reply, since clients wait for the end of their own run.
  const isChosen = entry?.["queueMode"] !== undefined || mode !== "followup";
  const accepted: Accepted = { ...checked, queue: isChosen ? mode : undefined };
  if (!command || command.kind === "compact") return startRun(options, accepted);
  const act = () => obey(command, key, sessions, { principal: call.principal, now: options.clock.now() });
  if (command.kind === "restart" && (command.text !== "" || checked.images.length > 0)) {
    return startRun(options, { ...accepted, queue: undefined, message: command.text }, act);
  }
  return answer(options, accepted, await act());
}

/** @param prepare as for `AgentRuns.start` */
async function startRun(
  options: SendOptions,
  accepted: Accepted,
  prepare?: () => Promise<unknown>,
): Promise<SendResult> {
  const { runs, sent } = options;
  const { call, key, message, images, thinking, queue, command } = accepted;
  const { sessionKey, idempotencyKey: runId, timeoutMs } = call.params;
  const { connection, principal } = call;
  const isDirective = call.params.message.trimStart().startsWith("/"); // Spec: `thinking` does not apply to directives
  const request: RunRequest = {
    runId,
    sessionKey: key,
    message,
    source: "chat",
    principal,
    ...(queue === undefined ? {} : { queue }),
    ...(images.length === 0 ? {} : { images }),
    ...(thinking === undefined || isDirective ? {} : { thinking }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(command?.kind === "compact" ? { compact: command.instructions } : {}),
    ...(connection?.caps.includes("tool-events") ? { connectionId: connection.id } : {}),
  };
  const starting = runs.start(request, prepare);
  const isOurs = sent.add(runId, sessionKey, starting); // before it resolves: the first events may come earlier
  try {
    const { fresh, state } = await starting;
    if (fresh) return { runId, status: "started" };
    if (isOurs && !isOpen(state)) sent.delete(runId);
    return await repeated(state, key, runs);
  } catch (error) {
    if (isOurs) sent.delete(runId);
    throw error;
  }
}

const isOpen = ({ status }: RunState) => status === "accepted" || status === "running";

/** Answers a command without a run: appends the reply to the transcript and sends one `final` event under the caller's key. Spec: events.md §4. */
async function answer(options: SendOptions, { call, key }: Accepted, text: string): Promise<SendResult> {
  const { sessions, commands, clock, emitSoon } = options;
  const { sessionKey, idempotencyKey: runId } = call.params;
  const now = clock.now();
  await sessions.append(
    key,
    [injectedMessage(text, now)],
    commands.record({ runId, sessionKey: key, answeredAt: now }),
  );
  emitSoon({ runId, sessionKey, seq: 1, state: "final", message: shownMessage(text, now) });
  return { runId, status: "started" };
}
