/** Decides whether a heartbeat runs, in the order of http/sessions-routing.md §7.2. Pure. */
import type { HeartbeatVisibility } from "@svc/sdk/heartbeat";

/** Choice: longest wait in milliseconds for other sessions' runs; with many users, there may always be one. */
export const BUSY_LIMIT_MS = 120_000;
/** Milliseconds until a busy session is checked again. */
export const RETRY_MS = 1_000;

export interface GateFacts {
  /** `set-heartbeats` */
  readonly isOn: boolean;
  /** `null`: the agent has no heartbeats */
  readonly everyMs: number | null;
  readonly isWithinHours: boolean;
  /** The heartbeat's session has an active run. */
  readonly isSessionBusy: boolean;
  /** The lane `main` has an active run. */
  readonly isLaneBusy: boolean;
  /** Milliseconds since the first postponement. */
  readonly waitedMs: number;
}

/** `requests-in-flight`: postponed. */
export type Gate = "open" | "disabled" | "quiet-hours" | "requests-in-flight";

export function gateOf(facts: GateFacts): Gate {
  if (!facts.isOn || facts.everyMs === null) return "disabled";
  if (!facts.isWithinHours) return "quiet-hours";
  const isBusy = facts.isSessionBusy || (facts.isLaneBusy && facts.waitedMs < BUSY_LIMIT_MS);
  return isBusy ? "requests-in-flight" : "open";
}

export interface WorthFacts {
  /** Text of HEARTBEAT.md; absent: it does not exist. */
  readonly file: string | undefined;
  /** There is a cause apart from the file. Choice: waiting events are one. */
  readonly isAboutSomething: boolean;
  readonly visibility: HeartbeatVisibility;
}

/** Why a turn would be pointless; `undefined`: it is not. */
export function worthless(facts: WorthFacts): "empty-heartbeat-file" | "alerts-disabled" | undefined {
  if (!facts.isAboutSomething && facts.file !== undefined && saysNothing(facts.file)) return "empty-heartbeat-file";
  const { showOk, showAlerts, useIndicator } = facts.visibility;
  return showOk || showAlerts || useIndicator ? undefined : "alerts-disabled";
}

/** A blank line, a heading, or an empty list item. */
const NOTHING = /^\s*(?:#{1,6}(?:\s.*)?|[-*+]\s*(?:\[[ xX]?\])?\s*)?$/;

/** Whether the file has only blank lines, headings and empty list items. */
export function saysNothing(file: string): boolean {
  return file.split(/\r?\n/).every((line) => NOTHING.test(line));
}
