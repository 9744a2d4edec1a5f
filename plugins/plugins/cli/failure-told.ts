/** Prints the failure of an install: its step and the next one, and as JSON the particulars as well. */
import type { CommandContext } from "@svc/sdk/cli";
import { InstallFailure } from "../install/failure.ts";

/** @returns the exit code of `work`, or 1 for a failure that was printed. @throws whatever else `work` throws */
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
