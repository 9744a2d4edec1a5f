/** Verbs that packages add. Help reads only package.json; the command file of a package is imported when its verb runs. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Command as Verb, CommandContext } from "@svc/sdk/cli";
import {
  importModule,
  isLoadable,
  type PackageManifest,
  type PluginSource,
  readPackageManifest,
} from "@svc/host/local";
import { resolvePaths } from "@svc/host/state";
import type { Output } from "./output.ts";
import { COMPANIONS } from "./package-json.ts";
import { pluginsHere } from "./planned-plugins.ts";
import { connectTo } from "./connect.ts";
import { resolveTarget, type TargetFlags } from "./target.ts";

/** A verb as listed in help. */
export interface InstalledCommand {
  readonly name: string;
  readonly summary: string;
  /** Common prefix of several verbs, not a verb itself. */
  readonly isGroup: boolean;
  /** Its module has `announce`. */
  readonly announces: boolean;
  readonly plugin: string;
  readonly manifest: PackageManifest;
  /** See `PluginSource.check`. */
  check?(): Promise<void>;
}

interface VerbPackage extends Pick<PluginSource, "check"> {
  readonly manifest: PackageManifest | undefined;
}

/** Verbs of the companion packages, of the plugins a start would load and of the bundled plugins. Each name once; runs none. */
export async function installedCommands(): Promise<InstalledCommand[]> {
  const { sources, bundle } = await pluginsHere();
  const byName = new Map<string, InstalledCommand>();
  const plugins = [...sources, ...bundle].filter(isLoadable);
  const packages: readonly VerbPackage[] = [...companions(), ...plugins];
  for (const { manifest, check } of packages) {
    if (!manifest) continue;
    for (const { name, summary, isGroup = false, announces = false } of manifest.commands ?? []) {
      if (byName.has(name)) continue;
      const plugin = manifest.id;
      byName.set(name, { name, summary, isGroup, announces, plugin, manifest, ...(check ? { check } : {}) });
    }
  }
  return [...byName.values()];
}

/** Name of the companion package that provides the verbs beginning with this word, if it is not installed. */
export function missingCompanion(word: string): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  return COMPANIONS.find((name) => {
    if (!name.endsWith(`/plugin-${word}`)) return false;
    try {
      resolve(`${name}/package.json`);
      return false;
    } catch {
      return true;
    }
  });
}

/** Companion packages installed next to the CLI, regardless of the configuration. */
function companions(): VerbPackage[] {
  const { resolve } = createRequire(import.meta.url);
  return COMPANIONS.flatMap((name) => {
    let file: string;
    try {
      file = resolve(`${name}/package.json`);
    } catch {
      return []; // optional
    }
    const manifest = readPackageManifest(dirname(file));
    return manifest ? [{ manifest }] : [];
  });
}

/** @throws Error when the command file lacks a verb that package.json lists, or when the package fails its check */
export async function loadVerb({ name, manifest, check }: InstalledCommand): Promise<Verb> {
  await check?.();
  const { cacheDir } = resolvePaths();
  const file = join(manifest.directory, manifest.cli ?? "");
  const { default: verbs } = (await importModule(file, cacheDir)) as { default?: readonly Verb[] };
  const verb = verbs?.find((candidate) => candidate.name === name);
  if (!verb) throw new Error(`${file} has no command "${name}", but its package.json lists it`);
  return verb;
}

/** The context passed to a verb. */
export function verbContext(
  args: readonly string[],
  options: Readonly<Record<string, unknown>>,
  output: Output,
): CommandContext {
  const { stateDir } = resolvePaths();
  const resolved = () => resolveTarget(options as TargetFlags, process.env);
  return {
    args,
    options,
    json: output.json,
    async connect({ scopes, caps, timeoutMs, reconnect = false } = {}) {
      return connectTo(await resolved(), {
        reconnect,
        ...(scopes ? { scopes } : {}),
        ...(caps ? { caps } : {}),
        ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs }),
      });
    },
    stateDir,
    holder: async () => (await import("./state-lock.ts")).stateHolder(stateDir),
    async target() {
      const { url, token, password, tlsFingerprint } = await resolved();
      return {
        url,
        ...(tlsFingerprint ? { tlsFingerprint } : {}),
        ...(token ? { token } : {}),
        ...(password ? { password } : {}),
      };
    },
    print: (value) => output.print(value),
    note: (line) => output.note(line),
    input: process.stdin,
    output: process.stdout,
  };
}
