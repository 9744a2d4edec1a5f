/** Whether a heartbeat takes place, in the order of http/sessions-routing.md §7.2. Pure. */
import type { HeartbeatVisibility } from "@svc/sdk/heartbeat";

/** Choice: milliseconds a heartbeat waits for other sessions' runs; with a hundred people there may always be one. */
export const BUSY_LIMIT_MS = 120_000;
/** Milliseconds until the next look at what was busy. */
export const RETRY_MS = 1_000;

export interface GateFacts {
  /** `set-heartbeats` */
  readonly isOn: boolean;
  /** `null`: the agent does not beat */
  readonly everyMs: number | null;
  readonly isWithinHours: boolean;
  /** The session in which it beats has a run. */
  readonly isSessionBusy: boolean;
  /** The lane `main` has one. */
  readonly isLaneBusy: boolean;
  /** Since it was first put off for that. */
  readonly waitedMs: number;
}

/** `requests-in-flight`: it is put off. */
export type Gate = "open" | "disabled" | "quiet-hours" | "requests-in-flight";

export function gateOf(facts: GateFacts): Gate {
  if (!facts.isOn || facts.everyMs === null) return "disabled";
  if (!facts.isWithinHours) return "quiet-hours";
  const isBusy = facts.isSessionBusy || (facts.isLaneBusy && facts.waitedMs < BUSY_LIMIT_MS);
  return isBusy ? "requests-in-flight" : "open";
}

export interface WorthFacts {
  /** Text of HEARTBEAT.md; absent: there is none. */
  readonly file: string | undefined;
  /** It is about something, whatever the file says. Choice: events that wait for the session are, too. */
  readonly isAboutSomething: boolean;
  readonly visibility: HeartbeatVisibility;
}

/** Why it is not worth a turn; `undefined`: it is. */
export function worthless(facts: WorthFacts): "empty-heartbeat-file" | "alerts-disabled" | undefined {
  if (!facts.isAboutSomething && facts.file !== undefined && saysNothing(facts.file)) return "empty-heartbeat-file";
  const { showOk, showAlerts, useIndicator } = facts.visibility;
  return showOk || showAlerts || useIndicator ? undefined : "alerts-disabled";
}

/** A blank line, a heading, or a list item without words. */
const NOTHING = /^\s*(?:#{1,6}(?:\s.*)?|[-*+]\s*(?:\[[ xX]?\])?\s*)?$/;

/** Whether there are only blank lines, headings and empty list items. */
export function saysNothing(file: string): boolean {
  return file.split(/\r?\n/).every((line) => NOTHING.test(line));
}
