/** Failure of an install: the failed step, and what to do next. */
import { type DetailCode, messageOf } from "@svc/sdk/errors";

/** In execution order. Choice: people agree before any code of the plugin runs, so `agree` precedes `trial`. */
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

/** Machine-readable details of a failure. */
interface InstallDetails {
  readonly code?: DetailCode;
  readonly [name: string]: unknown;
}

/** Unless the message says otherwise, nothing was changed. */
export class InstallFailure extends Error {
  override readonly name = "InstallFailure";
  readonly step: InstallStep;
  readonly details: InstallDetails;

  /** @param next what to type or do next */
  constructor(step: InstallStep, message: string, next: string, details: InstallDetails = {}) {
    super(`${step}: ${message}\nNext: ${next}`);
    this.step = step;
    this.details = details;
  }

  /** Details shown in addition to the message, which already quotes the relevant output of npm. */
  shown(): InstallDetails {
    const { npm: _words, ...shown } = this.details;
    return { ...shown, step: this.step };
  }
}

/**
 * Runs a step and converts its errors to an `InstallFailure` of this step.
 * @param next used unless the error has its own line `Next: `
 */
export async function step<T>(name: InstallStep, next: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InstallFailure) throw error;
    const [why = "", own = next] = messageOf(error).split("\nNext: ");
    throw new InstallFailure(name, why, own);
  }
}
