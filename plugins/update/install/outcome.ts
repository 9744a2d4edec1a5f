/** Outcome of an update. */
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
  /** Reason code, or the error of a failed step. */
  readonly reason?: string;
  /** The reason as a sentence for people. */
  readonly why?: string;
  /** Command lines for an update by hand. */
  readonly byHand?: readonly string[];
}

/** Inputs of both kinds of update. */
export interface UpdateWork {
  readonly steps: Steps;
  readonly programs: Programs;
  /** The running version. */
  readonly version: string;
  readonly channel: "stable" | "beta" | "dev";
  readonly dryRun: boolean;
  /**
   * Starts the version in that directory once, on an empty state directory. @returns its version
   * @throws StepFailed when it does not start, or a plugin that is running now fails there
   */
  prove(hostDirectory: string): Promise<string>;
  /** Six random bytes in hexadecimal, for names of directories. */
  random(): string;
}

export function refused({ reason, why, byHand }: Refusal, before?: Version): Outcome {
  return { status: "skipped", reason, why, byHand, ...(before ? { before } : {}) };
}

/** The outcome when there is no newer version. */
export function upToDate(before: Version, what: string): Outcome {
  return { status: "skipped", reason: "up-to-date", why: `${what} is the newest version`, before };
}

/** Prefix of the directories an update works in; a leftover one means an interrupted update. */
export const WORK_PREFIX = ".svc-update-";
