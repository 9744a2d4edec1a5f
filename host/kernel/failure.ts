/** What a broken `setup` or `start` means for its plugin. Pure. */
import type { SetupOutcome } from "@svc/sdk";
import type { PluginState } from "./instance.ts";

export interface Failure {
  readonly state: PluginState;
  readonly reason: string;
  /** Milliseconds until the next attempt; absent: none by itself. */
  readonly retryMs?: number;
  /** It threw something else than a typed outcome: counted and logged. */
  readonly isBug: boolean;
}

const DEFAULT_RETRY_MS = 1_000;

export function failureOf(step: "setup" | "start", error: unknown): Failure {
  const text = error instanceof Error ? error.message : String(error);
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
