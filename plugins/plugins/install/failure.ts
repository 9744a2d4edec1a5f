/** How an install fails: at a named step, with what to do next. */
import { type DetailCode, messageOf } from "@svc/sdk/errors";

/** In the order they are taken. Choice: people agree before any code of the plugin runs, so `agree` comes before `trial`. */
export const INSTALL_STEPS = [
  "lock",
  "fetch",
  "archive",
  "manifest",
  "dependencies",
  "agree",
  "trial",
  "switch",
  "load",
] as const;
export type InstallStep = (typeof INSTALL_STEPS)[number];

/** Machine-readable particulars of a failure. */
interface InstallDetails {
  readonly code?: DetailCode;
  readonly [name: string]: unknown;
}

/** Nothing was changed, unless the message says so. */
export class InstallFailure extends Error {
  override readonly name = "InstallFailure";
  readonly step: InstallStep;
  readonly details: InstallDetails;

  /** @param next what to type or do now */
  constructor(step: InstallStep, message: string, next: string, details: InstallDetails = {}) {
    super(`${step}: ${message}\nNext: ${next}`);
    this.step = step;
    this.details = details;
  }

  /** What is told beside the message, which has what matters of npm's words. */
  shown(): InstallDetails {
    const { npm: _words, ...shown } = this.details;
    return { ...shown, step: this.step };
  }
}

/** Runs a step. What it throws becomes an `InstallFailure` of this step. @param next unless the error itself has a line `Next: ` */
export async function step<T>(name: InstallStep, next: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InstallFailure) throw error;
    const [why = "", own = next] = messageOf(error).split("\nNext: ");
    throw new InstallFailure(name, why, own);
  }
}
