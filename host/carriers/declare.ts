/** Writes the `declared.json` of a built plugin, and checks whether it is up to date. */
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
  return JSON.parse(JSON.stringify(written)) as WrittenPlugin; // normalized as if read from the file
}

/**
 * Runs the setup of a built plugin with its defaults and writes its declarations to a file next to its entry.
 * @returns the file, and why the plugin is nevertheless imported at the start (`undefined`: it sleeps until its first use)
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

/** The problem with a plugin's `declared.json`; `undefined`: none, or it needs no file. @throws Error the plugin cannot be imported */
export async function staleDeclaration(manifest: Manifest): Promise<"missing" | "stale" | undefined> {
  if (isTypeScript(manifest.entry)) return undefined;
  const now = await made(manifest);
  const written = readWritten(writtenFile(manifest.directory, manifest.entry));
  if (!written) return now.awake === undefined ? "missing" : undefined;
  return isDeepStrictEqual(written, now) ? undefined : "stale";
}
