/** The `AgentRuns` and `AgentDirectory` services: running agents and listing them. */
import type { Origin } from "../origin.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";
import type { HeartbeatSettings } from "../heartbeat/service.ts";
import type { MemorySearch } from "../memory/settings.ts";
import type {
  AssistantMessage,
  ImageBlock,
  Message,
  StopReason,
  ToolCallBlock,
  ToolResultMessage,
  Usage,
} from "../models/messages.ts";
import type { AnswerOptions, ProviderFailure, ThinkingLevel, ToolChoice, ToolSpec } from "../models/service.ts";
import type { ToolPolicy } from "../tools/policy.ts";
import type { ToolAddress } from "../tools/service.ts";

/** One configured agent. */
export interface AgentInfo {
  readonly id: string;
  readonly name?: string;
  readonly isDefault: boolean;
  /** Directory of the agent's files. */
  readonly workspace: string;
}

/** Settings of `agents.defaults` for files; an absent one is not set. */
export interface MediaDefaults {
  /** References of models that look at pictures, the primary one first. */
  readonly imageModels: readonly string[];
  /** References of models that read PDFs, the primary one first. */
  readonly pdfModels: readonly string[];
  /** megabytes of one PDF */
  readonly pdfMaxBytesMb?: number;
  /** pages of all PDFs of one call */
  readonly pdfMaxPages?: number;
  /** megabytes of one received file */
  readonly mediaMaxMb?: number;
}

/** The configured agents. */
export interface AgentDirectory {
  /** The default agent first, the others sorted by id. */
  list(): readonly AgentInfo[];
  readonly defaultId: string;
  has(id: string): boolean;
  /** Tool settings of the agent: `agents.list[].tools`. `undefined`: none configured. */
  toolPolicy(id: string): ToolPolicy | undefined;
  /**
   * Heartbeat settings of the agent; `undefined`: it has no heartbeat. Agents with their own `heartbeat` have one; if
   * there is none, only the default agent has. Spec: http/sessions-routing.md §7.1.
   */
  heartbeat(id: string): HeartbeatSettings | undefined;
  /**
   * Memory search settings: `agents.list[].memorySearch` merged over `agents.defaults.memorySearch`; empty if neither
   * is set.
   */
  memorySearch(id: string): MemorySearch;
  /** Models and limits for files: `agents.defaults.imageModel` and the keys beside it. Absent: none is set. */
  readonly media?: MediaDefaults;
  /** Names of the skills that the agent may use: `agents.list[].skills`. `undefined`: all; empty: none. */
  skills(id: string): readonly string[] | undefined;
  /** `agents.defaults.userTimezone`, otherwise the zone of this machine (IANA name). Determines days and hours. */
  readonly timeZone: string;
  /** `agents.defaults.subagents.maxSpawnDepth`: maximum nesting depth of sub-runs. */
  readonly maxSpawnDepth: number;
}

/** Token of the service. */
export const AgentDirectory = defineService<AgentDirectory>()("agent.directory", "1.0.0", {
  summary:
    "Lists the configured agents and their settings. Provided by the plugin `agents`; used by plugins that act on behalf of an agent.",
});

/** Rule that decides whether the answer of a run is a mere acknowledgement. Plain data, so it survives a restart. */
export interface AcknowledgementRule {
  /** Maximum number of characters in addition to the acknowledgement token. */
  readonly maxChars: number;
  /** An answer identical to this text contains nothing new. */
  readonly repeats?: string;
}

/** Why an answer counts as an acknowledgement. */
export type Acknowledged = "token" | "empty" | "duplicate";

/** Where the reply of a run is sent, in addition to its events. */
export interface ReplyDelivery {
  /** Channel id, or `last`: the channel of the last message in the session. */
  readonly channel: string;
  /** Recipient in the notation of the channel. Default: the last recipient of the session. */
  readonly to?: string;
  /**
   * Account of the channel. Default: the account of the last conversation, otherwise the first account of the channel.
   */
  readonly accountId?: string;
  /** Thread to write in. Default: the thread of the session's last message, if it is with the same recipient. */
  readonly threadId?: string;
  /** True: a failed delivery does not fail the request. */
  readonly isBestEffort: boolean;
}

/** Request for an agent run. */
export interface RunRequest {
  /** Chosen by the caller (its idempotency key); never reused. */
  readonly runId: string;
  /** Canonical session key. */
  readonly sessionKey: string;
  readonly message: string;
  /** Origin of `message` and `images`. Default: the principal. */
  readonly origin?: Origin;
  /**
   * Asks the agent nothing; replaces the older part of the conversation with a summary. The text says what to preserve
   * and may be empty. Only for people who enter the command `/compact`, because details of the conversation are lost.
   */
  readonly compact?: string;
  readonly images?: readonly ImageBlock[];
  readonly thinking?: ThinkingLevel;
  /** Model to use instead of the model of the session or agent. */
  readonly model?: string;
  /**
   * Global lane in which the run waits after the lane of its session: `main` (default), `subagent`, `hook`, `http`,
   * `cron`, `nested`, or a custom name. Spec: http/sessions-routing.md §6.
   */
  readonly lane?: string;
  /**
   * What happens while the session is busy. Default: `followup` for `agent` and internal runs. Channels and chats pass
   * the mode from the session and `messages.queue`.
   */
  readonly queue?: QueueMode;
  /** Run that started this sub-run; stopping it also stops this run. */
  readonly parentRunId?: string;
  /** Number of session-to-session messages that led to this run, including the last one. Default 0: none. */
  readonly relayed?: number;
  /** Milliseconds; 0: no limit; default `agents.defaults.timeoutSeconds`. */
  readonly timeoutMs?: number;
  readonly extraSystemPrompt?: string;
  /** Default: the reply is not delivered. */
  readonly delivery?: ReplyDelivery;
  /** Omits workspace files from the prompt. Default false. */
  readonly lightContext?: boolean;
  /**
   * If the answer is an acknowledgement by this rule, it is withdrawn: at the end, the messages of the run are removed
   * from the transcript, and the run does not count as use of the session, unless external content went into the run.
   * `RunOutcome.takenBack` reports it.
   */
  readonly acknowledgement?: AcknowledgementRule;
  /**
   * The conversation as the caller knows it, oldest message first; the model sees this instead of the session's own
   * messages. A session without messages adopts it; any other session does not store it.
   */
  readonly history?: readonly Message[];
  /**
   * Results of tool calls in the last answer of the session (or of `history`); they precede `message`, which may then
   * be empty. Calls without a result count as unanswered.
   */
  readonly toolResults?: readonly ToolResultMessage[];
  /**
   * Tools that the caller runs itself. If the model calls one, the run ends with `RunOutcome.pendingCalls`. They take
   * precedence over tools of the gateway with the same name.
   */
  readonly clientTools?: readonly ToolSpec[];
  /**
   * Applies to the first model request of the run. `none` removes `clientTools`; `required` or a name limits the choice
   * to `clientTools`, and a run without such a call is an error. Default `auto`.
   */
  readonly toolChoice?: ToolChoice;
  readonly answerOptions?: AnswerOptions;
  /** Address of the caller, passed to tools. */
  readonly toolAddress?: ToolAddress;
  /** Who started the run, e.g. `chat`, `agent`. */
  readonly source: string;
  /** Connection of the caller, which receives tool events. */
  readonly connectionId?: string;
  readonly principal: Principal;
}

/** How a message is handled while a run of its session is active. Spec: http/sessions-routing.md §6. */
export type QueueMode = "collect" | "followup" | "steer" | "steer-backlog" | "interrupt";

/** Outcome of a run. */
export interface RunOutcome {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: "ok" | "error" | "aborted";
  /** epoch ms; absent if the run never started */
  readonly startedAt?: number;
  readonly endedAt: number;
  /** Full text of the reply, or the part produced so far. */
  readonly text: string;
  readonly errorMessage?: string;
  /** For `error`: a retry later may succeed, because a server or the storage was unavailable. Default false. */
  readonly retryable?: boolean;
  /** For `error`: how the model server failed, if it did. */
  readonly failure?: ProviderFailure["kind"];
  /** For `error`: whether the run had called tools, so a retry may repeat their effects. Absent: unknown. */
  readonly calledTools?: boolean;
  /**
   * Set if the messages of the run were removed from the transcript because its answer was an acknowledgement
   * (`RunRequest.acknowledgement`).
   */
  readonly takenBack?: Acknowledged;
  /**
   * For aborted runs: `rpc`, `stop`, `timeout` or `restart`; `collected` or `steered` if the message was merged into
   * another run.
   */
  readonly abortReason?: string;
  /** Run into which this message was merged. */
  readonly mergedInto?: string;
  readonly message?: AssistantMessage;
  /** Stop reason of the last answer. `toolUse` if there are `pendingCalls`. */
  readonly stopReason?: StopReason;
  /** Calls of `clientTools` whose results the caller must supply with another run. */
  readonly pendingCalls?: readonly ToolCallBlock[];
  readonly usage?: Usage;
  readonly provider?: string;
  readonly model?: string;
  readonly sessionId?: string;
  /**
   * Origin of `text` if the model saw external content (`saidAfter`); absent: it saw none, or the run never started.
   */
  readonly origin?: Origin;
}

/** One step of a run; same as the payload of the `agent` event. */
export interface RunEvent {
  readonly runId: string;
  /** Sequence number within the run, from 1. */
  readonly seq: number;
  readonly stream: "lifecycle" | "assistant" | "tool" | "thinking" | "compaction";
  readonly ts: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly sessionKey: string;
  /** Agent of the session. Absent: an event of an earlier version. */
  readonly agentId?: string;
  /** Absent until the run has read its session. */
  readonly sessionId?: string;
  /**
   * The answer may turn out to be an acknowledgement (`RunRequest.acknowledgement`), so its text is not shown before
   * the end. Not included in the `agent` event.
   */
  readonly isQuiet?: true;
  /** Set on the last event of a run. */
  readonly outcome?: RunOutcome;
  /** Another gateway on the same state carries out the run, and sends its events to clients; somebody waits for it here. */
  readonly isForeign?: true;
}

/** State of a run; can still be queried after a restart. */
export interface RunState {
  readonly runId: string;
  readonly sessionKey: string;
  readonly source: string;
  readonly status: "accepted" | "running" | "ok" | "error" | "aborted" | "interrupted";
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly error?: string;
}

/** Starts, stops and follows agent runs. */
export interface AgentRuns {
  /**
   * Accepts a run. Resolves when the request is on disk. Runs of one session execute one after the other.
   * @param prepare changes the session before the run, e.g. resets it. Called once; not called if `runId` was accepted
   * before or while the gateway stops, so a session without a run stays unchanged.
   * @returns `fresh: false` if `runId` was accepted before (no new run is started).
   * @throws GatewayError `UNAVAILABLE` if a gate denies; with `details.code` `GATEWAY_STOPPING` if the gateway is
   * stopping; errors of `prepare`
   */
  start(
    request: RunRequest,
    prepare?: () => Promise<unknown>,
  ): Promise<{ readonly fresh: boolean; readonly state: RunState; readonly acceptedAt: number }>;
  /** Queue mode of this session: from its entry, then `messages.queue` for the channel, then the global setting. */
  queueMode(sessionKey: string, channel?: string): Promise<QueueMode>;
  /** Stops a waiting or running run and its sub-runs, on any gateway. @returns whether there was a run to stop */
  abort(runId: string, reason: string): boolean;
  /** Waiting and running runs of a session on all gateways, oldest first. */
  active(sessionKey: string): readonly RunState[];
  /**
   * Waits until the session has no waiting or running run on any gateway, then calls `work`, e.g. to start a run in a new conversation. Calls for one
   * session are one after the other. @throws the signal's reason; GatewayError `UNAVAILABLE` when the plugin stops; errors of `work`
   */
  whenIdle<T>(sessionKey: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Whether runs of this global lane are waiting or running. */
  isBusy(lane: string): boolean;
  state(runId: string): Promise<RunState | undefined>;
  /**
   * The outcome, or `undefined` after `timeoutMs` milliseconds. Also waits for runs that are not known yet.
   * @throws GatewayError `UNAVAILABLE` with `details.code` `GATEWAY_STOPPING` for a run that starts after the restart
   */
  wait(runId: string, timeoutMs: number): Promise<RunOutcome | undefined>;
}

/** Token of the service. */
export const AgentRuns = defineService<AgentRuns>()("agent.runs", "1.0.0", {
  summary:
    "Runs agents. Provided by the plugin `agents`; used by chats, channels, scheduled jobs, webhooks and HTTP endpoints.",
});
