/** Results of the checks of a plugin. */
import type { Problem } from "@svc/host";

export type { Problem };

/** One completed check; it passed if it has no problems. */
export interface Finding {
  readonly check: string;
  readonly problems: readonly Problem[];
}

/** Last message of the check process. */
export const DONE = "done";

export function failed(why: string, next: string): Problem {
  return { level: "failed", why, next };
}

export function warning(why: string, next: string): Problem {
  return { level: "warning", why, next };
}

/** `problem` if `holds` is false. */
export function unless(holds: boolean, problem: Problem): Problem[] {
  return holds ? [] : [problem];
}
