/** The `AgentRuns` and `AgentDirectory` services: who the agents are, and running them. */
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
  /** Directory of its files. */
  readonly workspace: string;
}

/** The configured agents. */
export interface AgentDirectory {
  /** The default agent first, then by id. */
  list(): readonly AgentInfo[];
  readonly defaultId: string;
  has(id: string): boolean;
  /** What the configuration says of this agent's tools: `agents.list[].tools`. `undefined`: nothing. */
  toolPolicy(id: string): ToolPolicy | undefined;
  /**
   * How this agent's heart beats; `undefined`: it does not. Those with a `heartbeat` of their own do, and only the default
   * agent where none has. Spec: http/sessions-routing.md §7.1.
   */
  heartbeat(id: string): HeartbeatSettings | undefined;
  /** How its memory is searched: `agents.list[].memorySearch` over `agents.defaults.memorySearch`; empty where nothing is said. */
  memorySearch(id: string): MemorySearch;
  /** `agents.defaults.userTimezone`, else the zone of this machine (IANA name): whose days and hours count. */
  readonly timeZone: string;
  /** `agents.defaults.subagents.maxSpawnDepth`: how deep sub-runs may start others. */
  readonly maxSpawnDepth: number;
}

/** Which agents there are. Provided by the plugin `agents`. */
export const AgentDirectory = defineService<AgentDirectory>()("agent.directory", "1.0.0");

/** What a run that may end in an acknowledgement is to be measured by; data, so that it outlives a restart. */
export interface AcknowledgementRule {
  /** Characters beside the word that still say nothing. */
  readonly maxChars: number;
  /** An answer of exactly this says nothing new. */
  readonly repeats?: string;
}

/** Why an answer says nothing. */
export type Acknowledged = "token" | "empty" | "duplicate";

/** Where the reply of a run is sent, beside its events. */
export interface ReplyDelivery {
  /** Channel id, or `last`: where the session was spoken to last. */
  readonly channel: string;
  /** Recipient in the channel's own notation. Default: the last one of the session. */
  readonly to?: string;
  /** Login of the channel. Default: that of the last conversation, else the channel's first. */
  readonly accountId?: string;
  /** A reply that could not be sent does not fail the request. */
  readonly isBestEffort: boolean;
}

/** What is asked of an agent. */
export interface RunRequest {
  /** Chosen by the caller (its idempotency key); unique for ever. */
  readonly runId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly message: string;
  /** Whose words `message` and `images` are. Default: those of the principal. */
  readonly origin?: Origin;
  /**
   * Asks the agent nothing and replaces the older part of the conversation by a summary; the text says what to keep, and may
   * be empty. Only for people who write the command `/compact`: details of the conversation are lost.
   */
  readonly compact?: string;
  readonly images?: readonly ImageBlock[];
  readonly thinking?: ThinkingLevel;
  /** Model to use instead of the session's and the agent's. */
  readonly model?: string;
  /** Which global lane it waits in after that of its session: `main` (default), `subagent`, `hook`, `http`, `cron`, `nested`, or a name of one's own. Spec: http/sessions-routing.md §6. */
  readonly lane?: string;
  /**
   * What happens while the session is busy. Default: `agent` and internal runs wait for their turn (`followup`); a
   * channel or a chat passes what the session and `messages.queue` say.
   */
  readonly queue?: QueueMode;
  /** Run that started this one, for sub-runs: stopping it stops this one. */
  readonly parentRunId?: string;
  /** How many messages from session to session led to this one, the last included. Default 0: it came from elsewhere. */
  readonly relayed?: number;
  /** Milliseconds; 0 means no limit; default `agents.defaults.timeoutSeconds`. */
  readonly timeoutMs?: number;
  readonly extraSystemPrompt?: string;
  /** Default: the reply is sent nowhere. */
  readonly delivery?: ReplyDelivery;
  /** No files of the workspace stand in the prompt. Default false. */
  readonly lightContext?: boolean;
  /**
   * An answer that says nothing by this rule is taken back: with its end the messages of the run go out of the transcript,
   * and the session counts as unused by it, unless somebody else's words went into the run. `RunOutcome.takenBack` says so.
   */
  readonly acknowledgement?: AcknowledgementRule;
  /**
   * The conversation so far as the caller has it, oldest first: the model is shown this and not what the session has. A
   * session without messages takes it over; in any other it is not stored.
   */
  readonly history?: readonly Message[];
  /**
   * Answers to tool calls of the session's (or `history`'s) last answer; stand before `message`, which may be empty
   * then. Calls that are not among them count as unanswered.
   */
  readonly toolResults?: readonly ToolResultMessage[];
  /** Tools that the caller runs itself: the run ends where the model calls one, with `RunOutcome.pendingCalls`. They stand before the gateway's own of the same name. */
  readonly clientTools?: readonly ToolSpec[];
  /**
   * Of the run's first question. `none` takes `clientTools` away; `required` and a name let the model choose among
   * `clientTools` only, and a run without such a call is an error. Default `auto`.
   */
  readonly toolChoice?: ToolChoice;
  readonly answerOptions?: AnswerOptions;
  /** What tools are told about where the caller is. */
  readonly toolAddress?: ToolAddress;
  /** Who started it, e.g. `chat`, `agent`. */
  readonly source: string;
  /** Connection that asked, for its tool events. */
  readonly connectionId?: string;
  readonly principal: Principal;
}

/** What to do with a message for a session whose run is active. Spec: http/sessions-routing.md §6. */
export type QueueMode = "collect" | "followup" | "steer" | "steer-backlog" | "interrupt";

/** How a run ended. */
export interface RunOutcome {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: "ok" | "error" | "aborted";
  /** epoch ms; absent when it never started */
  readonly startedAt?: number;
  readonly endedAt: number;
  /** Whole text of the reply, or what there was of it. */
  readonly text: string;
  readonly errorMessage?: string;
  /** Of `error`: asking again later may help, since a server or the storage could not be used. Default false. */
  readonly retryable?: boolean;
  /** Of `error`: how the model server failed, where it was that. */
  readonly failure?: ProviderFailure["kind"];
  /** Of `error`: whether it had called tools, so that asking again may repeat what they did. Absent: that is not known. */
  readonly calledTools?: boolean;
  /** Its messages are not in the transcript: its answer said nothing, by `RunRequest.acknowledgement`. */
  readonly takenBack?: Acknowledged;
  /** `rpc`, `stop`, `timeout`, `restart` for aborted runs; `collected` or `steered` for a request whose message went into another run. */
  readonly abortReason?: string;
  /** Run that took this one's message over. */
  readonly mergedInto?: string;
  readonly message?: AssistantMessage;
  /** Of the last answer. `toolUse` with `pendingCalls`. */
  readonly stopReason?: StopReason;
  /** Calls of `clientTools` the caller has to answer with a further run. */
  readonly pendingCalls?: readonly ToolCallBlock[];
  readonly usage?: Usage;
  readonly provider?: string;
  readonly model?: string;
  readonly sessionId?: string;
  /** Whose words `text` is, when its model was shown words of others than the owner (`saidAfter`); absent: it was not, or it never started. */
  readonly origin?: Origin;
}

/** One step of a run; the same as the payload of the `agent` event. */
export interface RunEvent {
  readonly runId: string;
  /** Per run, from 1. */
  readonly seq: number;
  readonly stream: "lifecycle" | "assistant" | "tool" | "thinking" | "compaction";
  readonly ts: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly sessionKey: string;
  /** Its answer may say nothing (`RunRequest.acknowledgement`), so its text is not shown before the end. Not in the `agent` event. */
  readonly isQuiet?: true;
  /** Set on the last event of a run. */
  readonly outcome?: RunOutcome;
}

/** State of a run one can ask for, also after a restart. */
export interface RunState {
  readonly runId: string;
  readonly sessionKey: string;
  readonly source: string;
  readonly status: "accepted" | "running" | "ok" | "error" | "aborted" | "interrupted";
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly error?: string;
}

/** Starting, stopping and following agent runs. */
export interface AgentRuns {
  /**
   * Accepts a run. Resolves when the request is on disk; runs of one session go one after the other.
   * @param prepare changes the session before the run, e.g. resets it. Called once, and not for a `runId` that was accepted
   *   before, nor while the gateway stops: a session stays as it is when nothing runs in it.
   * @returns `fresh: false` when `runId` was accepted before (nothing new is started).
   * @throws GatewayError `UNAVAILABLE` when a gate denies; with `details.code` `GATEWAY_STOPPING` when the gateway stops;
   *   what `prepare` throws
   */
  start(
    request: RunRequest,
    prepare?: () => Promise<unknown>,
  ): Promise<{ readonly fresh: boolean; readonly state: RunState; readonly acceptedAt: number }>;
  /** How messages for this session are queued: its entry, then `messages.queue` by channel, then overall. */
  queueMode(sessionKey: string, channel?: string): Promise<QueueMode>;
  /** Stops a run that waits or runs, and its sub-runs. @returns whether there was one to stop. */
  abort(runId: string, reason: string): boolean;
  /** Runs of a session that wait or run, oldest first. */
  active(sessionKey: string): readonly RunState[];
  /** Whether runs of this global lane wait or run. */
  isBusy(lane: string): boolean;
  state(runId: string): Promise<RunState | undefined>;
  /**
   * The outcome, or `undefined` after `timeoutMs` milliseconds. Unknown runs are waited for too.
   * @throws GatewayError `UNAVAILABLE` with `details.code` `GATEWAY_STOPPING` for a run that begins after the restart
   */
  wait(runId: string, timeoutMs: number): Promise<RunOutcome | undefined>;
}

/** Agent turns. Provided by the plugin `agents`. */
export const AgentRuns = defineService<AgentRuns>()("agent.runs", "1.0.0");
