/** What a check of a plugin comes to. */
import type { Problem } from "@svc/host";

export type { Problem };

/** One check, carried out; without problems it is passed. */
export interface Finding {
  readonly check: string;
  readonly problems: readonly Problem[];
}

/** What the process that checks says last. */
export const DONE = "done";

export function failed(why: string, next: string): Problem {
  return { level: "failed", why, next };
}

export function warning(why: string, next: string): Problem {
  return { level: "warning", why, next };
}

/** `problem` where `holds` is false. */
export function unless(holds: boolean, problem: Problem): Problem[] {
  return holds ? [] : [problem];
}
