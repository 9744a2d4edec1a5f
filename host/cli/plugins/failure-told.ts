/** How a failed install is told: its step and the next one, and as JSON the particulars as well. */
import { InstallFailure } from "../../install/failure.ts";
import { EXIT, type Output } from "../output.ts";

/** @returns the exit code of `work`, or that of a failure it told. @throws whatever else `work` throws */
export async function failureTold(output: Output, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InstallFailure)) throw error;
    const { message } = error;
    if (output.json) output.print({ ok: false, error: { code: "INSTALL_FAILED", message, details: error.shown() } });
    else output.note(`Failed at ${message}`);
    return EXIT.refused;
  }
}
