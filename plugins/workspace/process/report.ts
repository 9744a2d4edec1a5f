/** Describes how a command ended. Pure. */
import type { ProgramOutcome } from "@svc/kit/exec";

/** E.g. `exit code 0 after 0.2 s`. @param durationMs milliseconds */
export function endText({ exitCode, endedFor, error }: ProgramOutcome, durationMs: number): string {
  const why = endedFor === undefined ? "" : `: ${endedFor}`;
  const what = error ?? `exit code ${exitCode ?? "unknown"}${why}`;
  return `${what} after ${(durationMs / 1_000).toFixed(1)} s`;
}

/** The output, followed by a note about the end. */
export function withNote(output: string, note: string): string {
  const body = output.replace(/\n+$/, "");
  return body === "" ? `[${note}; no output]` : `${body}\n[${note}]`;
}
