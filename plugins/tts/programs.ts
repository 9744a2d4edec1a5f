/** Runs programs of this machine that get bytes and return bytes. Loads their runner on first use. */
import { tmpdir } from "node:os";
import { lazy, unavailable } from "@svc/sdk";
import { MAX_AUDIO_BYTES } from "./audio.ts";

const exec = lazy(() => import("@svc/kit/exec"));

/** Choice: bytes of uncompressed audio, which only a program of this machine gets; about 75 minutes of espeak-ng. */
const MAX_BYTES = 8 * MAX_AUDIO_BYTES;

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
export async function runBytes({ name, args, ...run }: ByteRun): Promise<Buffer> {
  const { runForBytes } = await exec();
  const env = { PATH: process.env["PATH"] ?? "" }; // without the gateway's secrets
  const end = await runForBytes({ ...run, argv: [name, ...args], cwd: tmpdir(), env, maxBytes: MAX_BYTES });
  return end.bytes ?? unavailable(`${name} failed: ${end.failure}`);
}
