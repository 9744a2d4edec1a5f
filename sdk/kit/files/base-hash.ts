/** Refuses to write a file that changed since its writer read it. */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { GatewayError } from "@svc/sdk";
import { readWithin } from "./rooted.ts";

/** SHA-256 of a content, hex. */
export function contentHash(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * The file that `baseHash` was computed from, for `writeWithin`.
 * @param baseHash `contentHash` of the content that was read; of the empty string if there was no file
 * @returns `undefined`: there is no file
 * @throws GatewayError `CONFLICT` if the file has another content, and as `readWithin`
 */
export async function baseOf(root: string, name: string, baseHash: string): Promise<Stats | undefined> {
  const file = await readWithin(root, name);
  if (contentHash(file?.bytes ?? "") === baseHash) return file?.stats;
  throw new GatewayError("CONFLICT", `${name} was changed since it was read; read it again, then repeat the change`);
}
