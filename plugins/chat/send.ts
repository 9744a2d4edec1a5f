/** Handler of `chat.send`: a message starts a run, executes a command, or stops runs. Spec: protocol/methods-chat.md §2. */
import { isStopRequest } from "@svc/kit/chat-commands";
import { readAttachments } from "@svc/kit/media";
import {
  type Call,
  GatewayError,
  type Handler,
  invalidRequest,
  type Live,
  notFound,
  type Origin,
  type ResultOf,
} from "@svc/sdk";
import type { AgentRuns, QueueMode, RunRequest, RunState } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";
import type { ChatCommandOutcome, ChatCommands, ParsedCommand } from "@svc/sdk/commands";
import {
  type ImageBlock,
  injectedMessage,
  type Message,
  parseThinkingLevel,
  THINKING_LEVELS,
  type ThinkingLevel,
} from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import type { Speech } from "@svc/sdk/speech";
import type { Aborts } from "./abort.ts";
import type { CommandLog } from "./command-log.ts";
import { cleanMessage, isBlank } from "./input.ts";
import { refuseOtherAgent } from "./reading.ts";
import { repeated } from "./repeated.ts";
import { movedOn, refuseUnsupported, type Said, type SendParams, withContext } from "./send-params.ts";
import type { SentRuns } from "./sent-runs.ts";
import { type ChatPayload, shownMessage } from "./stream.ts";

type SendCall = Call<SendParams>;
type SendResult = ResultOf<typeof chat.send>;

/** Name of this channel. */
const CHANNEL = "webchat";

export interface SendOptions {
  readonly sessions: Pick<
    Sessions,
    "canonicalKey" | "agentOf" | "get" | "freshen" | "sendPolicy" | "append" | "message" | "page" | "rewind"
  >;
  readonly runs: Pick<AgentRuns, "start" | "state" | "active" | "queueMode" | "wait">;
  readonly sent: SentRuns;
  readonly aborts: Pick<Aborts, "all">;
  readonly commands: CommandLog;
  /** Without them, every message but a stop request goes to the agent. */
  readonly chatCommands: Live<ChatCommands>;
  /** A message ends the speech of its session. */
  readonly speech: Live<Pick<Speech, "interrupt">>;
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
  readonly command: ParsedCommand | undefined;
  /** Id of the message that this one replaces. */
  readonly replaces: string | undefined;
}

/** What a run is started with. */
interface Beginning {
  readonly message: string;
  readonly compact?: string | undefined;
  /** Set when a queue mode was chosen for the session. */
  readonly queue: QueueMode | undefined;
  /** As `prepare` of `AgentRuns.start`. */
  readonly before?: (() => Promise<unknown>) | undefined;
  /** Default: the principal. */
  readonly origin?: Origin | undefined;
}

/** Choice: stop requests are part of `chat.send`, so they work without the plugin `commands`. */
const STOP: ParsedCommand = { name: "stop", text: "", urgent: true };

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
function check(call: SendCall, { sessions, chatCommands, log }: SendOptions): Checked {
  refuseUnsupported(call.params);
  const message = cleanMessage(call.params.message);
  const { images, dropped } = readAttachments(call.params.attachments);
  for (const reason of dropped) log.info({ runId: call.params.idempotencyKey }, `attachment dropped: ${reason}`);
  const { replaces, replyToId, attachments } = call.params;
  const keepsImages = replaces !== undefined && attachments === undefined; // `replace` decides
  if (isBlank(message) && images.length === 0 && !keepsImages) {
    const why = dropped.length > 0 ? ` and ${dropped[0]}` : "";
    invalidRequest(`message is empty${why}; write something or attach an image`);
  }
  const thinking = thinkingLevel(call.params.thinking);
  const key = sessions.canonicalKey(call.params.sessionKey);
  refuseOtherAgent(sessions, key, call.params.agentId);
  if (replaces !== undefined && replyToId !== undefined)
    invalidRequest("send either `replaces` or `replyToId`, not both");
  const command = call.params.suppressCommandInterpretation ? undefined : commandIn(message, chatCommands);
  if (command && replaces !== undefined)
    invalidRequest(
      `a command cannot replace a message; send ${message.trim().split(/\s/u, 1)[0]} without \`replaces\``,
    );
  return { call, key, message, images, thinking, command, replaces };
}

function commandIn(message: string, chatCommands: SendOptions["chatCommands"]): ParsedCommand | undefined {
  return isStopRequest(message) ? STOP : chatCommands.get()?.parse(message);
}

function thinkingLevel(word: string | undefined): ThinkingLevel | undefined {
  if (word === undefined || isBlank(word)) return undefined;
  return (
    parseThinkingLevel(word) ??
    invalidRequest(`unknown thinking level "${word}"; levels: ${THINKING_LEVELS.join(", ")}`)
  );
}

/** Reads storage once and writes it once before the response, unless a command or a quote needs more. */
async function accept(options: SendOptions, checked: Checked): Promise<SendResult> {
  const { sessions, runs, commands, aborts } = options;
  const { call, key, command, replaces } = checked;
  const { sessionKey, idempotencyKey: runId, expectedLeafEntryId } = call.params;
  const isForAgent = command === undefined;
  const isNew = isForAgent && replaces === undefined;
  const [{ entry, restarted }, answered, mode, run, lastId] = await Promise.all([
    isNew ? inbound(options, key) : current(options, key), // an edit goes on with the conversation, however old
    commands.find(runId),
    isForAgent ? runs.queueMode(key, CHANNEL) : undefined,
    isNew ? undefined : runs.state(runId), // for other messages, `start` returns it
    expectedLeafEntryId === undefined ? null : lastOf(sessions, key),
  ]);
  if (sessions.sendPolicy(key, entry) === "deny") {
    invalidRequest(`sending to session "${sessionKey}" is disabled (sendPolicy "deny"); an admin can allow it`);
  }
  void options.speech
    .get()
    ?.interrupt(key)
    .catch(() => undefined); // speech that goes on does no harm to the message
  if (command?.name === STOP.name) return aborts.all(sessionKey, "stop");
  if (run) return repeated(run, key, runs);
  if (answered) return repeated({ ...answered, runId, source: "chat", status: "ok" }, key, runs);
  const refusal = restarted ? undefined : movedOn(call.params, entry, lastId);
  if (refusal !== undefined) return unlessRepeated(refusal, runId, key, runs);
  if (command) return obey(options, checked, command);
  const said = await withContext(checked.message, call.params, { sessions, key, principal: call.principal });
  if (replaces !== undefined) return replace(options, checked, replaces, said);
  return startRun(options, checked, { ...said, queue: chosenMode(call.params, entry, mode) });
}

/** A session as a message finds it. */
interface Found {
  readonly entry: SessionEntry | undefined;
  /** The conversation is new, because the session was stale or missing: nothing that the sender saw is in it. */
  readonly restarted?: boolean;
}

const current = async ({ sessions }: SendOptions, key: string): Promise<Found> => ({ entry: await sessions.get(key) });

/** The session for a message to the agent. A busy session is not stale; a command that resets it, or stops runs, needs it unchanged. */
async function inbound(options: SendOptions, key: string): Promise<Found> {
  if (options.runs.active(key).length > 0) return current(options, key);
  return options.sessions.freshen(key, { channel: CHANNEL });
}

async function lastOf(sessions: Pick<Sessions, "page">, key: string): Promise<string | null> {
  return (await sessions.page(key, { limit: 1 })).oldestId ?? null;
}

/** Refuses a message, unless it was accepted before the conversation went on. `reason` is for clients. */
async function unlessRepeated(
  refusal: string,
  runId: string,
  key: string,
  runs: SendOptions["runs"],
): Promise<SendResult> {
  const run = await runs.state(runId);
  if (run) return repeated(run, key, runs);
  throw new GatewayError("CONFLICT", refusal, { details: { reason: "active-leaf-changed" } });
}

/**
 * As the message asks. Choice: without any setting each message gets its own reply, since clients wait for the end of
 * their own run.
 */
function chosenMode(
  { queueMode }: SendParams,
  entry: SessionEntry | undefined,
  mode: QueueMode | undefined,
): QueueMode | undefined {
  return queueMode ?? (entry?.["queueMode"] !== undefined || mode !== "followup" ? mode : undefined);
}

/**
 * Starts a run with a message that takes the place of an earlier one. Choice: it keeps the origin of that message, so that an edit
 * never gives words of strangers the authority of the owner.
 */
async function replace(options: SendOptions, checked: Checked, id: string, { message }: Said): Promise<SendResult> {
  const { sessions, runs } = options;
  const { call, key } = checked;
  const former: Message | undefined = await sessions.message(key, id);
  if (former?.role !== "user")
    return notFound(`there is no message of the user with the id "${id}"; read chat.history again`);
  const kept = former.content.filter((block): block is ImageBlock => block.type === "image");
  const images = call.params.attachments === undefined ? kept : checked.images;
  if (isBlank(message) && images.length === 0) invalidRequest("message is empty; write something or attach an image");
  const refuseWhileBusy = () => {
    if (runs.active(key).length > 0) throw new GatewayError("CONFLICT", BUSY);
  };
  refuseWhileBusy(); // before the message is replaced, and again at the last moment
  const before = async () => {
    refuseWhileBusy();
    await sessions.rewind(key, id);
  };
  return startRun(options, { ...checked, images }, { message, queue: undefined, before, origin: former.origin });
}

const BUSY = "a reply of this session is in progress; stop it with chat.abort or wait for its end, then send again";

/** Runs a command: answers, or starts the run that it asks for. */
async function obey(options: SendOptions, checked: Checked, command: ParsedCommand): Promise<SendResult> {
  const { chatCommands, runs } = options;
  const { call, key, images } = checked;
  const outcome: ChatCommandOutcome = (await chatCommands.get()?.run(command, {
    sessionKey: key,
    principal: call.principal,
    runId: call.params.idempotencyKey,
    surface: "chat",
    ...(images.length === 0 ? {} : { hasFiles: true }),
  })) ?? { message: checked.message }; // the plugin stopped meanwhile
  if ("reply" in outcome) return answer(options, checked, outcome.reply);
  const { message, compact, before } = outcome;
  if (before) return startRun(options, checked, { message, compact, queue: undefined, before }); // never merged into another run
  const [{ entry }, mode] = await Promise.all([inbound(options, key), runs.queueMode(key, CHANNEL)]);
  return startRun(options, checked, { message, compact, queue: chosenMode(call.params, entry, mode) });
}

async function startRun(options: SendOptions, checked: Checked, beginning: Beginning): Promise<SendResult> {
  const { runs, sent } = options;
  const { call, key, images, thinking } = checked;
  const { message, compact, queue, before, origin } = beginning;
  const { sessionKey, idempotencyKey: runId, timeoutMs, suppressCommandInterpretation: isText } = call.params;
  const { connection, principal } = call;
  const isDirective = !isText && call.params.message.trimStart().startsWith("/"); // Spec: `thinking` does not apply to directives
  const request: RunRequest = {
    runId,
    sessionKey: key,
    message,
    source: "chat",
    principal,
    ...(origin === undefined ? {} : { origin }),
    ...(queue === undefined ? {} : { queue }),
    ...(images.length === 0 ? {} : { images }),
    ...(thinking === undefined || isDirective ? {} : { thinking }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(compact === undefined ? {} : { compact }),
    ...(connection?.caps.includes("tool-events") ? { connectionId: connection.id } : {}),
  };
  const starting = runs.start(request, before);
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
async function answer(options: SendOptions, { call, key }: Checked, text: string): Promise<SendResult> {
  const { sessions, commands, clock, emitSoon } = options;
  const { sessionKey, idempotencyKey: runId } = call.params;
  const now = clock.now();
  await sessions.append(
    key,
    [injectedMessage(text, now)],
    commands.record({ runId, sessionKey: key, answeredAt: now }),
  );
  const agentId = sessions.agentOf(key);
  emitSoon({ runId, sessionKey, agentId, seq: 1, state: "final", message: shownMessage(text, now) });
  return { runId, status: "started" };
}
