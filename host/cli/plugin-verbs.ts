/** Verbs that packages add. Help reads package.json only; a package's command file is imported when its verb runs. */
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

/** A verb as help knows it. */
export interface InstalledCommand {
  readonly name: string;
  readonly summary: string;
  /** Words that several verbs begin with; no verb. */
  readonly isGroup: boolean;
  readonly plugin: string;
  readonly manifest: PackageManifest;
  /** See `PluginSource.check`. */
  check?(): Promise<void>;
}

interface VerbPackage extends Pick<PluginSource, "check"> {
  readonly manifest: PackageManifest | undefined;
}

/** The verbs of the companions, of the plugins a start would load and of the bundle's, each name once; runs none of them. */
export async function installedCommands(): Promise<InstalledCommand[]> {
  const { sources, bundle } = await pluginsHere();
  const byName = new Map<string, InstalledCommand>();
  const plugins = [...sources, ...bundle].filter(isLoadable);
  const packages: readonly VerbPackage[] = [...companions(), ...plugins];
  for (const { manifest, check } of packages) {
    if (!manifest) continue;
    for (const { name, summary, isGroup = false } of manifest.commands ?? []) {
      if (byName.has(name)) continue;
      byName.set(name, { name, summary, isGroup, plugin: manifest.id, manifest, ...(check ? { check } : {}) });
    }
  }
  return [...byName.values()];
}

/** The package that brings the verbs that begin with this word, where it is not installed: it is named after the word. */
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

/** Of the packages with verbs that are installed beside the command line, whatever the configuration says. */
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

/** @throws Error when the package names a verb its command file does not have, or nothing of it may run */
export async function loadVerb({ name, manifest, check }: InstalledCommand): Promise<Verb> {
  await check?.();
  const { cacheDir } = resolvePaths();
  const file = join(manifest.directory, manifest.cli ?? "");
  const { default: verbs } = (await importModule(file, cacheDir)) as { default?: readonly Verb[] };
  const verb = verbs?.find((candidate) => candidate.name === name);
  if (!verb) throw new Error(`${file} has no command "${name}", though its package.json lists one`);
  return verb;
}

/** What a verb gets to work with. */
export function verbContext(
  args: readonly string[],
  options: Readonly<Record<string, unknown>>,
  output: Output,
): CommandContext {
  const meant = () => resolveTarget(options as TargetFlags, process.env);
  return {
    args,
    options,
    json: output.json,
    async connect({ scopes, caps, timeoutMs, reconnect = false } = {}) {
      return connectTo(await meant(), {
        reconnect,
        ...(scopes ? { scopes } : {}),
        ...(caps ? { caps } : {}),
        ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs }),
      });
    },
    stateDir: resolvePaths().stateDir,
    async target() {
      const { url, token, password, tlsFingerprint } = await meant();
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
