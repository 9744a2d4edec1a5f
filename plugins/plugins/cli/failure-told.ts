/** Prints the failure of an install: the failed step and the next one; as JSON also the details. */
import type { CommandContext } from "@svc/sdk/cli";
import { InstallFailure } from "../install/failure.ts";

/** @returns the exit code of `work`, or 1 for a failure that was printed @throws other errors of `work` */
export async function failureTold(context: CommandContext, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InstallFailure)) throw error;
    const { message } = error;
    if (context.json) context.print({ ok: false, error: { code: "INSTALL_FAILED", message, details: error.shown() } });
    else context.note(`Failed at ${message}`);
    return 1;
  }
}
