/** Entry of a separate process: imports a plugin like the gateway would, and reports its problems. */
import { API_VERSION, isPlugin } from "@svc/sdk";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { checkCode, importModule } from "@svc/host/local";
import { missingImports } from "./imports.ts";
import type { TrialOrder } from "./trial.ts";

// Sent by trial.ts.
process.once("message", (order: TrialOrder) => void trial(order));

async function trial(order: TrialOrder): Promise<void> {
  const problems = await problemsOf(order).catch((error: unknown) => [String(error)]);
  process.send?.({ problems });
}

async function problemsOf({ directory, manifest }: TrialOrder): Promise<string[]> {
  const root = realpathSync(directory);
  const files = [manifest.entry, ...(manifest.cli === undefined ? [] : [manifest.cli])].map((path) => join(root, path));
  const missing = await missingImports(root, files, (name, from) => import.meta.resolve(name, from));
  if (missing.length > 0) return missing;
  const [entry = "", cli] = files;
  return [...(await entryProblems(entry, manifest)), ...(cli === undefined ? [] : await cliProblems(cli, manifest))];
}

async function entryProblems(file: string, { id, entry, api }: TrialOrder["manifest"]): Promise<string[]> {
  let plugin: unknown;
  try {
    plugin = ((await importModule(file, false)) as { default?: unknown }).default;
  } catch (error) {
    return [`its entry ${entry} cannot be imported: ${wordsWithPlace(error)}`];
  }
  if (!isPlugin(plugin)) return [`its entry ${entry} does not export a plugin: export default definePlugin({ ... })`];
  const wrong = checkCode(plugin, { id });
  return wrong === undefined ? [] : [`${wrong} (its package.json: api ${api}; this gateway: ${API_VERSION})`];
}

async function cliProblems(file: string, { cli, commands = [] }: TrialOrder["manifest"]): Promise<string[]> {
  let verbs: unknown;
  try {
    verbs = ((await importModule(file, false)) as { default?: unknown }).default;
  } catch (error) {
    return [`its commands ${cli} cannot be imported: ${wordsWithPlace(error)}`];
  }
  const names = Array.isArray(verbs) ? verbs.map((verb: unknown) => (verb as { name?: unknown } | null)?.name) : [];
  return commands
    .filter(({ name, isGroup }) => !isGroup && !names.includes(name))
    .map(({ name }) => `its commands ${cli} have no "${name}", though its package.json lists one`);
}

/** The message and the first stack line outside the runtime. */
function wordsWithPlace(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split("\n").find((line) => /^\s+at .*(?:file:|\/)/.test(line) && !line.includes("node:"));
  return place === undefined ? error.message : `${error.message}\n${place.trim()}`;
}
