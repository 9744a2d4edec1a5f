/** Maps failures of a plugin to its state, its next retry, and quarantine. Pure. */
import type { SetupOutcome } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import type { EventLoopBlock } from "@svc/sdk/gateway";
import type { PluginState } from "./state.ts";

export interface Failure {
  readonly state: PluginState;
  readonly reason: string;
  /** Milliseconds until the next retry; absent: no automatic retry. */
  readonly retryMs?: number;
  /** It threw something other than a `SetupOutcome`: counted and logged. */
  readonly isBug: boolean;
}

const DEFAULT_RETRY_MS = 1_000;

export function failureOf(step: "import" | "setup" | "start", error: unknown): Failure {
  const text = messageOf(error);
  if (!isSetupOutcome(error)) return { state: "failed", reason: `${step}: ${text}`, isBug: true };
  switch (error.outcome) {
    case "auth-required":
      return { state: "blocked", reason: `log in first: ${text}`, isBug: false };
    case "misconfigured":
      return { state: "blocked", reason: `configuration: ${error.path ?? ""}: ${text}`, isBug: false };
    case "not-ready": {
      const retryMs = error.retryMs ?? DEFAULT_RETRY_MS;
      return { state: "pending", reason: `${text}; next attempt in ${retryMs} ms`, retryMs, isBug: false };
    }
  }
}

function isSetupOutcome(error: unknown): error is SetupOutcome {
  return error instanceof Error && error.name === "SetupOutcome" && "outcome" in error;
}

/** Number of failures within `WINDOW_MS` that leads to quarantine. */
const TOO_MANY = 5;
const WINDOW_MS = 60_000;
/** Why a plugin is in quarantine. */
export const TOO_OFTEN = `failed ${TOO_MANY} times within ${WINDOW_MS / 1_000} s`;
/** Duration of the first, the second and every further quarantine. ms */
const QUARANTINE_MS = [60_000, 300_000, 1_800_000] as const;
/** Time after the end of a quarantine after which the next one counts as the first again. ms */
const FORGIVEN_MS = 1_800_000;
/** First delay before a plugin that failed to start is retried; doubles with each failure. ms */
const RESTART_MS = 1_000;

/** @param count which quarantine, from 1; 0: none */
function quarantineMs(count: number): number {
  return count === 0 ? 0 : (QUARANTINE_MS[Math.min(count, QUARANTINE_MS.length) - 1] ?? 0);
}

/** The recent failures of one plugin. */
export class FailureWindow {
  #times: number[] = [];
  #quarantines = 0;
  #lastQuarantine = Number.NEGATIVE_INFINITY;

  /** Records a failure. @param now monotonic ms. @returns whether the limit is reached */
  add(now: number): boolean {
    this.#times = this.#times.filter((time) => now - time < WINDOW_MS);
    this.#times.push(now);
    return this.#times.length >= TOO_MANY;
  }

  /** Begins a quarantine. @returns its duration in ms */
  quarantine(now: number): number {
    if (now - this.#lastQuarantine > FORGIVEN_MS + quarantineMs(this.#quarantines)) this.#quarantines = 0;
    this.#quarantines++;
    const ms = quarantineMs(this.#quarantines);
    this.#lastQuarantine = now;
    this.#times = [];
    return ms;
  }

  /** Milliseconds until a plugin that failed to start is retried. */
  get restartMs(): number {
    return RESTART_MS * 2 ** Math.max(0, this.#times.length - 1);
  }

  /** Forgets all failures: an operator has intervened. */
  clear(): void {
    this.#times = [];
    this.#quarantines = 0;
  }
}

/** A block of the event loop as a failure of the plugin that caused it; the stack is the plugin's. */
export function blockError({ ms, stack }: EventLoopBlock): Error {
  const at = stack.find((call) => !call.includes("(node:")) ?? stack[0]; // frames of the runtime are less useful
  const error = new Error(`blocked the event loop for ${(ms / 1_000).toFixed(1)} s${at ? `, at ${at}` : ""}`);
  error.stack = [`Error: ${error.message}`, ...stack.map((call) => `    at ${call}`)].join("\n");
  return error;
}
