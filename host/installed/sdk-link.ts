/** Links the host's own SDK into installed generations, so that all plugins use one plugin API. The link belongs to the host, not to the package. */
import { mkdirSync, readlinkSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Path of the link, relative to a generation. */
export const SDK_LINK = "node_modules/@svc/sdk";

/** Resolved once: it does not move during the life of the process. */
let directory: string | undefined;

/** Directory of the SDK package this host uses. */
export function sdkDirectory(): string {
  return (directory ??= realpathSync(dirname(createRequire(import.meta.url).resolve("@svc/sdk/package.json"))));
}

/** Points the link to this host's SDK, replacing what is there: the gateway may have moved since. */
export function linkSdk(generation: string, target: string = sdkDirectory()): void {
  const link = join(generation, SDK_LINK);
  if (targetOf(link) === target) return;
  mkdirSync(dirname(link), { recursive: true });
  const staged = `${link}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  symlinkSync(target, staged, "junction");
  try {
    if (targetOf(link) === undefined) rmSync(link, { recursive: true, force: true }); // a rename cannot replace a directory
    renameSync(staged, link);
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined; // not a link
  }
}
