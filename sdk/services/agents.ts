/** The `AgentRuns` and `AgentDirectory` services: who the agents are, and running them. */
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";
import type { AssistantMessage, ImageBlock, Usage } from "./messages.ts";

/** One configured agent. */
export interface AgentInfo {
  readonly id: string;
  readonly name?: string;
  readonly isDefault: boolean;
}

/** The configured agents. */
export interface AgentDirectory {
  /** The default agent first, then by id. */
  list(): readonly AgentInfo[];
  readonly defaultId: string;
  has(id: string): boolean;
}

/** Which agents there are. Provided by the plugin `agents`. */
export const AgentDirectory = defineService<AgentDirectory>()("agent.directory", "1.0.0");

/** What is asked of an agent. */
export interface RunRequest {
  /** Chosen by the caller (its idempotency key); unique for ever. */
  readonly runId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly message: string;
  readonly images?: readonly ImageBlock[];
  readonly thinking?: string;
  /** Milliseconds; 0 means no limit; default `agents.defaults.timeoutSeconds`. */
  readonly timeoutMs?: number;
  readonly extraSystemPrompt?: string;
  /** Where it came from, e.g. `chat`, `agent`. */
  readonly origin: string;
  /** Connection that asked, for its tool events. */
  readonly connectionId?: string;
  readonly principal: Principal;
}

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
  /** `rpc`, `stop`, `timeout`, `restart` for aborted runs. */
  readonly abortReason?: string;
  readonly message?: AssistantMessage;
  readonly usage?: Usage;
  readonly provider?: string;
  readonly model?: string;
  readonly sessionId?: string;
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
  /** Set on the last event of a run. */
  readonly outcome?: RunOutcome;
}

/** State of a run one can ask for, also after a restart. */
export interface RunState {
  readonly runId: string;
  readonly sessionKey: string;
  readonly origin: string;
  readonly status: "accepted" | "running" | "ok" | "error" | "aborted" | "interrupted";
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly error?: string;
}

/** Starting, stopping and following agent runs. */
export interface AgentRuns {
  /**
   * Accepts a run. Resolves when the request is on disk; runs of one session go one after the other.
   * @returns `fresh: false` when `runId` was accepted before (nothing new is started).
   * @throws GatewayError `UNAVAILABLE` when a gate denies or the gateway stops.
   */
  start(
    request: RunRequest,
  ): Promise<{ readonly fresh: boolean; readonly state: RunState; readonly acceptedAt: number }>;
  /** Stops a run that waits or runs. @returns whether there was one to stop. */
  abort(runId: string, reason: string): boolean;
  /** Runs of a session that wait or run, oldest first. */
  active(sessionKey: string): readonly RunState[];
  state(runId: string): Promise<RunState | undefined>;
  /** The outcome, or `undefined` after `timeoutMs` milliseconds. Unknown runs are waited for too. */
  wait(runId: string, timeoutMs: number): Promise<RunOutcome | undefined>;
}

/** Agent turns. Provided by the plugin `agents`. */
export const AgentRuns = defineService<AgentRuns>()("agent.runs", "1.0.0");
