/** How many runs each lane lets through at a time. Decides only. Spec: http/sessions-routing.md §6. */
import type { AgentsConfig } from "./config.ts";
import { MAIN_LANE } from "./session-queue.ts";
import { SUBAGENT } from "./subagent-names.ts";

/** Waits longer than this are logged. Spec: §6. */
export const LONG_WAIT_MS = 2_000;

/** `cron`, `nested` and lanes of one's own: one at a time. */
export function laneLimit(lane: string, { maxConcurrent, subagents }: AgentsConfig["defaults"]): number {
  if (lane === MAIN_LANE) return maxConcurrent;
  return lane === SUBAGENT ? subagents.maxConcurrent : 1;
}
