/** Runs a program that writes bytes, e.g. a picture or a sound. */
import { BoundedText } from "./bounded-text.ts";
import { type ProgramRun, startProgram } from "./run-program.ts";

const MAX_LINE_CHARS = 200;

/** A program, its input, and the limit of its output. */
export interface ByteRun extends ProgramRun {
  /** Written to its standard input. Default: no input. */
  readonly input?: Uint8Array;
  /** Bytes of its standard output; a program that writes more is ended. */
  readonly maxBytes: number;
}

/** Its standard output, or why it failed. */
export type ByteEnd =
  | { readonly bytes: Buffer }
  | { readonly bytes?: undefined; readonly failure: string; readonly timedOut: boolean };

/** Processes that the program left running are ended with it. @throws the reason of the signal */
export async function runForBytes({ input, maxBytes, ...run }: ByteRun): Promise<ByteEnd> {
  run.signal?.throwIfAborted();
  const chunks: Buffer[] = [];
  let size = 0;
  const said = new BoundedText();
  const program = startProgram({
    ...run,
    endsWhole: true,
    stdin: input === undefined ? "ignore" : "pipe",
    onOutput(chunk, stream) {
      if (stream === "stderr") said.append(chunk);
      else if ((size += chunk.length) > maxBytes) program.end(`it wrote more than ${maxBytes} bytes`);
      else chunks.push(chunk);
    },
  });
  program.stdin?.end(input);
  const { exitCode, timedOut, endedFor, error } = await program.ended;
  run.signal?.throwIfAborted();
  if (exitCode === 0 && endedFor === undefined) return { bytes: Buffer.concat(chunks) };
  const failure = endedFor ?? (lastLine(said.end().text) || error || `exit code ${exitCode ?? 0}`);
  return { failure, timedOut };
}

/** The last line of a program's output, for an error message: at most 200 characters, no control characters. */
export function lastLine(output: string): string {
  const line = output.trim().split("\n").at(-1) ?? "";
  return line
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, MAX_LINE_CHARS);
}
