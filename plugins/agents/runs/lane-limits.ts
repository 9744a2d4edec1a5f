/** How many runs each lane lets through at a time. Decides only. Spec: http/sessions-routing.md §6. */
import type { AgentsConfig } from "../config.ts";
import { MAIN_LANE } from "./session-queue.ts";
import { SUBAGENT } from "../subagents/settings.ts";

/** Waits longer than this are logged. Spec: §6. */
export const LONG_WAIT_MS = 2_000;

/** Runs that webhooks ask for. */
const HOOK_LANE = "hook";

/** Runs whose callers wait with an open HTTP connection. */
const HTTP_LANE = "http";
/** Choice: they have a lane of their own, wide enough for a program that asks many things at once: what waits here costs it time to its first word. */
const HTTP_RUNS = 64;

/** Runs of jobs. Choice: `cron.maxConcurrentRuns` holds jobs back before they come here; one that hangs is to hold up no other. */
const CRON_LANE = "cron";
const CRON_RUNS = 1_000;

/**
 * `nested` and lanes of one's own: one at a time. Choice: runs of webhooks have a lane beside those of people,
 * as wide as theirs, so that one which takes its ten minutes does not hold up every other sender.
 */
export function laneLimit(lane: string, { maxConcurrent, subagents }: AgentsConfig["defaults"]): number {
  if (lane === MAIN_LANE || lane === HOOK_LANE) return maxConcurrent;
  if (lane === HTTP_LANE) return HTTP_RUNS;
  if (lane === CRON_LANE) return CRON_RUNS;
  return lane === SUBAGENT ? subagents.maxConcurrent : 1;
}
