/** Writes `declared.json` of a built plugin, and tells whether it is still what the code says. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { KINDS } from "../kernel/kinds/index.ts";
import { importPlugin } from "../kernel/load.ts";
import type { Manifest } from "../kernel/manifest.ts";
import { readWritten, write, type WrittenPlugin, writtenFile } from "./written.ts";
import { isTypeScript } from "./written-cache.ts";

async function made({ directory, entry }: Manifest): Promise<WrittenPlugin> {
  const file = join(directory, entry);
  const written = await write(await importPlugin(file, false), KINDS, file);
  return JSON.parse(JSON.stringify(written)) as WrittenPlugin; // as it is read back
}

/**
 * Runs the setup of a built plugin with its defaults and writes down what it declares, beside its entry.
 * @returns the file, and why the plugin is imported at the start all the same (`undefined`: it sleeps until it is used)
 * @throws Error its entry is TypeScript, which needs no such file, or cannot be imported
 */
export async function declarePlugin(manifest: Manifest): Promise<{ readonly file: string; readonly awake?: string }> {
  if (isTypeScript(manifest.entry))
    throw new Error(`${manifest.entry} is TypeScript: the gateway caches its declarations in the state directory`);
  const file = writtenFile(manifest.directory, manifest.entry);
  const written = await made(manifest);
  writeFileSync(file, JSON.stringify(written));
  return { file, ...(written.awake === undefined ? {} : { awake: written.awake }) };
}

/** What is wrong with the `declared.json` of a plugin; `undefined`: nothing, or it needs none. @throws Error it cannot be imported */
export async function staleDeclaration(manifest: Manifest): Promise<"missing" | "stale" | undefined> {
  if (isTypeScript(manifest.entry)) return undefined;
  const now = await made(manifest);
  const written = readWritten(writtenFile(manifest.directory, manifest.entry));
  if (!written) return now.awake === undefined ? "missing" : undefined;
  return isDeepStrictEqual(written, now) ? undefined : "stale";
}
