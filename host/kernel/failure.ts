/** What failures of a plugin come to: its state, the next attempt, and when they are too many. Pure. */
import type { SetupOutcome } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import type { EventLoopBlock } from "@svc/sdk/gateway";
import type { PluginState } from "./state.ts";

export interface Failure {
  readonly state: PluginState;
  readonly reason: string;
  /** Milliseconds until the next attempt; absent: none by itself. */
  readonly retryMs?: number;
  /** It threw something else than a typed outcome: counted and logged. */
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

/** So many failures within so many milliseconds are too many. */
const TOO_MANY = 5;
const WINDOW_MS = 60_000;
/** Milliseconds of quarantine: first, second, every further time. */
const QUARANTINE_MS = [60_000, 300_000, 1_800_000] as const;
/** After so many quiet milliseconds the next quarantine is a first one again. */
const FORGIVEN_MS = 1_800_000;
/** Milliseconds before a plugin that did not start is tried again; doubles. */
const RESTART_MS = 1_000;

/** The recent failures of one plugin. */
export class FailureWindow {
  #times: number[] = [];
  #quarantines = 0;
  #lastQuarantine = Number.NEGATIVE_INFINITY;

  /** @param now monotonic ms. @returns whether that was one too many */
  add(now: number): boolean {
    this.#times = this.#times.filter((time) => now - time < WINDOW_MS);
    this.#times.push(now);
    return this.#times.length >= TOO_MANY;
  }

  /** Milliseconds this quarantine lasts. */
  quarantine(now: number): number {
    if (now - this.#lastQuarantine > FORGIVEN_MS + (QUARANTINE_MS[this.#quarantines - 1] ?? 0)) this.#quarantines = 0;
    const ms = QUARANTINE_MS[Math.min(this.#quarantines, QUARANTINE_MS.length - 1)] ?? QUARANTINE_MS[2];
    this.#quarantines++;
    this.#lastQuarantine = now;
    this.#times = [];
    return ms;
  }

  /** Milliseconds until a plugin that did not start is tried again. */
  get restartMs(): number {
    return RESTART_MS * 2 ** Math.max(0, this.#times.length - 1);
  }

  /** An operator has seen to it. */
  clear(): void {
    this.#times = [];
    this.#quarantines = 0;
  }
}

/** A block of the event loop as a failure of the plugin that caused it; the stack is the plugin's. */
export function blockError({ ms, stack }: EventLoopBlock): Error {
  const at = stack.find((call) => !call.includes("(node:")) ?? stack[0]; // frames of the runtime say less
  const error = new Error(`blocked the event loop for ${(ms / 1_000).toFixed(1)} s${at ? `, at ${at}` : ""}`);
  error.stack = [`Error: ${error.message}`, ...stack.map((call) => `    at ${call}`)].join("\n");
  return error;
}
