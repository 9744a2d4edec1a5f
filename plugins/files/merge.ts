/** Two changes of one file. */
import { posix } from "node:path";
import type { FileFacts } from "./manifest.ts";
import { sha256 } from "./objects.ts";

/**
 * Both contents, if both sides only appended to the base, e.g. lines of a diary: what the others stored comes first.
 * @param base facts of the content that both had
 */
export function appended(own: Buffer, stored: Buffer, { size, sha256: digest }: FileFacts): Buffer | undefined {
  const begins = (bytes: Buffer) => bytes.byteLength >= size && sha256(bytes.subarray(0, size)) === digest;
  return begins(own) && begins(stored) ? Buffer.concat([stored, own.subarray(size)]) : undefined;
}

/** Name under which the content of this gateway is kept. @param now epoch ms */
export function conflictName(path: string, gateway: string, now: number): string {
  const { dir, name, ext } = posix.parse(path);
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
  const by = gateway.replaceAll(/[^\w-]/g, "-").slice(0, 40);
  return posix.join(dir, `${name.slice(0, 100)}.conflict-${by}-${stamp}${ext}`);
}
