/** Carries sleeping plugins: they are committed from their written declarations, and their code is imported on first use. */
import { GatewayError } from "@svc/sdk";
import type { AnyKind, Carried, Declared, KernelHooks, PluginFacts, Staging } from "../kernel/kind.ts";
import { checkCode } from "../kernel/describe.ts";
import { iterablePromise } from "./crossing.ts";
import { unreachableService } from "./isolated-plugin.ts";
import {
  callOf,
  difference,
  entryOf,
  factsOf,
  readWritten,
  type WrittenPlugin,
  writtenFile,
  writtenOf,
} from "./written.ts";
import { cachedFile, isTypeScript, keep } from "./written-cache.ts";

export interface SleepOptions {
  readonly kinds: readonly AnyKind[];
  /** Private directory that caches the declarations of plugins without a build. */
  readonly cacheDir: string;
  /** Whether the plugin's configuration differs from its defaults. */
  isConfigured(plugin: PluginFacts): boolean;
}

/**
 * Resolves a source that has written declarations from them. Leaves plugins that must be awake to the other taps, which also resolve the code of
 * a sleeping plugin on its first use. The declarations of a TypeScript plugin are cached when it first runs with its defaults, and stay valid
 * until a file of its package changes.
 */
export function carryAsleep(
  { resolve, commit }: Pick<KernelHooks, "resolve" | "commit">,
  { kinds, cacheDir, isConfigured }: SleepOptions,
): void {
  /** Cache files to write, by id of the plugin that lacks one. */
  const missing = new Map<string, string>();
  resolve.tapPromise("asleep", async (source) => {
    const { manifest, elsewhere, isAwake } = source;
    if (!manifest?.directory || isAwake) return undefined as never; // tapable's type lacks `undefined`, which passes to the next tap
    const { id, directory, entry } = manifest;
    missing.delete(id);
    const file = isTypeScript(entry) ? cachedFile(cacheDir, id, directory) : writtenFile(directory, entry);
    const written = file === undefined ? undefined : readWritten(file);
    if (!written && file !== undefined && isTypeScript(entry)) missing.set(id, file);
    const facts = written && factsOf(written);
    if (!facts || !written.entries) return undefined as never; // imported now, in parallel with the others
    if (written.hasChecks && isConfigured(facts)) return undefined as never; // only its code can validate the section
    const { entries } = written;
    if (elsewhere && isHostOnly(facts, entries, kinds)) return undefined as never; // the import reports the refusal
    await source.check?.();
    return carriedBy(() => resolve.promise({ ...source, isAwake: true }), facts, { ...written, entries }, kinds);
  });
  commit.tap("asleep", ({ plugin, declared }) => {
    const file = missing.get(plugin.id);
    if (file === undefined || isConfigured(plugin)) return;
    missing.delete(plugin.id);
    keep(file, writtenOf(plugin, kinds, declared));
  });
}

type Entries = NonNullable<WrittenPlugin["entries"]>;

/** Whether the plugin cannot run in a thread or process. */
function isHostOnly(facts: PluginFacts, entries: Entries, kinds: readonly AnyKind[]): boolean {
  if (unreachableService(facts)) return true;
  return kinds.some(({ name, refuse }) =>
    entries[name]?.some(({ entry }) => refuse?.(entryOf(entry, () => Promise.resolve())) !== undefined),
  );
}

/** @param resolve resolves the code */
function carriedBy(
  resolve: () => Promise<Carried>,
  facts: PluginFacts,
  written: WrittenPlugin & { readonly entries: Entries },
  kinds: readonly AnyKind[],
): Carried {
  let code: Carried | undefined;
  return {
    get plugin() {
      return code?.plugin ?? facts;
    },
    get lacksChecks() {
      return written.hasChecks === true && !code;
    },
    async load() {
      if (code) return;
      const resolved = await resolve();
      const wrong = checkCode(resolved.plugin, facts);
      if (wrong !== undefined) throw new Error(wrong);
      code = resolved;
    },
    setup(staging) {
      if (!code) throw new Error("setup before load");
      return code.setup(staging);
    },
    sleep: (staging, wake) => sleep(written.entries, staging, wake),
    stale: (declared) => difference(written, kinds, declared),
  };
}

function sleep(entries: Entries, staging: Staging, wake: () => Promise<Declared>): void {
  const remote = { isBusy: () => false, isOver: () => false };
  for (const [kind, list] of Object.entries(entries))
    for (const { name, entry } of list) {
      const call = (ref: number, args: readonly unknown[]) =>
        iterablePromise(wake().then((declared) => callOf(named(declared, kind, name), ref, args)));
      staging.adopt(kind, entryOf(entry, call), remote);
    }
}

function named(declared: Declared, kind: string, name: string): unknown {
  const found = declared.entry(kind, name);
  if (found === undefined) throw new GatewayError("UNAVAILABLE", `the plugin no longer declares ${name}`);
  return found;
}
