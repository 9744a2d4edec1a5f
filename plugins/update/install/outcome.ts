/** What an update comes to. */
import type { ResultOf } from "@svc/sdk";
import type { update } from "@svc/sdk/update";
import type { Refusal } from "./place.ts";
import type { Programs } from "./programs.ts";
import type { Steps } from "./steps.ts";

type Result = ResultOf<typeof update.run>["result"];

export type Version = NonNullable<Result["before"]>;
export type PlannedStep = NonNullable<Result["plan"]>[number];

export interface Outcome extends Partial<Pick<Result, "before" | "after" | "plan">> {
  readonly status: Result["status"];
  /** A word for programs, or what a failed step said. */
  readonly reason?: string;
  /** A sentence for people. */
  readonly why?: string;
  /** Command lines with which a person can do it. */
  readonly byHand?: readonly string[];
}

/** What both ways of updating work with. */
export interface UpdateWork {
  readonly steps: Steps;
  readonly programs: Programs;
  /** Version that runs now. */
  readonly version: string;
  readonly channel: "stable" | "beta" | "dev";
  readonly dryRun: boolean;
  /**
   * Starts the version whose host lies there once, on an empty state directory. @returns its version
   * @throws StepFailed it does not start, or a plugin that runs now fails there
   */
  prove(hostDirectory: string): Promise<string>;
  /** Six random bytes in hexadecimal: names of directories. */
  random(): string;
}

export function refused({ reason, why, byHand }: Refusal, before?: Version): Outcome {
  return { status: "skipped", reason, why, byHand, ...(before ? { before } : {}) };
}

/** Nothing to do. */
export function upToDate(before: Version, what: string): Outcome {
  return { status: "skipped", reason: "up-to-date", why: `${what} is the newest version`, before };
}

/** Begin of the names of directories an update works in; what is left of one was interrupted. */
export const WORK_PREFIX = ".svc-update-";
