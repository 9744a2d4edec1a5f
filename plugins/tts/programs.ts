/** Runs programs of this machine that get bytes and return bytes. Loaded on first use. */
import { tmpdir } from "node:os";
import { lazy, unavailable } from "@svc/sdk";
import { MAX_AUDIO_BYTES } from "./audio.ts";

const exec = lazy(() => import("@svc/kit/exec"));

/** Choice: bytes of uncompressed audio, which only a program of this machine gets; about 75 minutes of espeak-ng. */
const MAX_BYTES = 8 * MAX_AUDIO_BYTES;
const MAX_COMPLAINT_CHARS = 200;

export interface ByteRun {
  /** Absolute path. */
  readonly file: string;
  readonly name: string;
  readonly args: readonly string[];
  readonly input: Uint8Array;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/** Absolute path of a program on `PATH`. */
export async function findProgram(name: string): Promise<string | undefined> {
  const { findOnPath, ownPlaces } = await exec();
  return findOnPath(name, ownPlaces());
}

/** What the program writes to standard output. @throws GatewayError `UNAVAILABLE` with its complaint; the signal's reason */
export async function runBytes({ file, name, args, input, signal }: ByteRun): Promise<Buffer> {
  const { startProgram } = await exec();
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let [size, complaint] = [0, ""];
  const program = startProgram({
    file,
    argv: [name, ...args],
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] ?? "" }, // without the gateway's secrets
    signal,
    stdin: "pipe",
    endsWhole: true,
    onOutput(chunk, stream) {
      if (stream === "stderr") complaint = (complaint + chunk.toString()).slice(0, MAX_COMPLAINT_CHARS);
      else if ((size += chunk.length) > MAX_BYTES) program.end("it wrote too much");
      else chunks.push(chunk);
    },
  });
  program.stdin?.end(input);
  const { exitCode, error } = await program.ended;
  signal.throwIfAborted();
  if (exitCode !== 0 || error !== undefined)
    unavailable(`${name} failed: ${complaint.trim() || error || `exit code ${exitCode ?? 0}`}`);
  return Buffer.concat(chunks);
}
