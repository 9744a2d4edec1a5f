/** One plugin API for all: an installed plugin gets the host's own, by a link that is the host's and not the package's. */
import { mkdirSync, readlinkSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Of the link, relative to a generation. */
export const SDK_LINK = "node_modules/@svc/sdk";

/** Found once: it stays where it is as long as this process lives. */
let directory: string | undefined;

/** The package with the plugin API, as this host uses it. */
export function sdkDirectory(): string {
  return (directory ??= realpathSync(dirname(createRequire(import.meta.url).resolve("@svc/sdk/package.json"))));
}

/** Makes the link lead to this host's plugin API, whatever stands there: a gateway may have moved since. */
export function linkSdk(generation: string, target: string = sdkDirectory()): void {
  const link = join(generation, SDK_LINK);
  if (targetOf(link) === target) return;
  mkdirSync(dirname(link), { recursive: true });
  const staged = `${link}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  symlinkSync(target, staged, "junction");
  try {
    if (targetOf(link) === undefined) rmSync(link, { recursive: true, force: true }); // a directory cannot be renamed over
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
    return undefined; // no link
  }
}
