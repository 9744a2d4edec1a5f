/** How a verb says why it does nothing. */
import type { CommandContext } from "@svc/sdk/cli";

/** Exit codes of `svc`. */
export const REFUSED = 1;
export const WRONG_USAGE = 2;

/** Prints the reason; with `--json` as the one value. @returns the exit code */
export function refuse(
  message: string,
  output: Pick<CommandContext, "json" | "print" | "note">,
  exitCode: number = REFUSED,
): number {
  if (output.json) output.print({ ok: false, error: { code: "LOCAL", message } });
  else output.note(message);
  return exitCode;
}
