/** How messages wait for a busy session. No I/O. Spec: http/sessions-routing.md §6. */
import type { QueueMode } from "@svc/sdk/agents";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { QueueConfig } from "../config.ts";

/** How the messages of one run request wait. */
export interface QueueSettings {
  readonly mode: QueueMode;
  /** Milliseconds without a new message before a follow-up starts. */
  readonly debounceMs: number;
  /** Maximum number of waiting messages of a session, at least 1. */
  readonly cap: number;
  readonly drop: "old" | "new" | "summarize";
}

/**
 * Clients of the channel `webchat` wait for the end of each of their runs.
 * Choice: by default they get one answer per message; every other channel collects.
 */
const WEBCHAT = "webchat";

/** `steer+backlog` and `queue` are aliases; `undefined` for an unknown mode. */
export function parseQueueMode(word: unknown): QueueMode | undefined {
  switch (word) {
    case "collect":
    case "followup":
    case "steer":
    case "steer-backlog":
    case "interrupt":
      return word;
    case "steer+backlog":
      return "steer-backlog";
    case "queue":
      return "steer";
    default:
      return undefined;
  }
}

/** From the session entry, else by channel, else the general setting, else the default. */
export function queueModeOf(entry: SessionEntry | undefined, config: QueueConfig, channel?: string): QueueMode {
  const byChannel = channel === undefined ? undefined : config.byChannel[channel];
  return (
    parseQueueMode(entry?.["queueMode"]) ??
    parseQueueMode(byChannel) ??
    parseQueueMode(config.mode) ??
    (channel === WEBCHAT ? "followup" : "collect")
  );
}

/** The options for `mode`; an invalid value in the entry is ignored. */
export function queueSettings(
  mode: QueueMode,
  entry: SessionEntry | undefined,
  config: QueueConfig,
  channel?: string,
): QueueSettings {
  const byChannel = channel === undefined ? undefined : config.debounceMsByChannel[channel];
  const drop = entry?.["queueDrop"];
  return {
    mode,
    debounceMs: wholeNumber(entry?.["queueDebounceMs"], 0) ?? byChannel ?? config.debounceMs,
    cap: wholeNumber(entry?.["queueCap"], 1) ?? config.cap,
    drop: drop === "old" || drop === "new" || drop === "summarize" ? drop : config.drop,
  };
}

function wholeNumber(value: unknown, least: number): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= least ? value : undefined;
}
