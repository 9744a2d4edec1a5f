/** Carries plugins from what was written down of them when they were built: their code is imported, here or elsewhere, when it is needed. */
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
  /** Private: what plugins without a build declare is kept here. */
  readonly cacheDir: string;
  /** Whether the configuration says something else of a plugin than its defaults. */
  isConfigured(plugin: PluginFacts): boolean;
}

/**
 * Sources with a written declaration are known by it; those that must be awake are left to other taps, which also get the code of the
 * others at the first use. What a plugin in TypeScript declares is written down when it first runs with its defaults, and holds until a
 * file of its package changes.
 */
export function carryAsleep(
  { resolve, commit }: Pick<KernelHooks, "resolve" | "commit">,
  { kinds, cacheDir, isConfigured }: SleepOptions,
): void {
  /** Files to write, by the id of the plugin that runs now without one. */
  const missing = new Map<string, string>();
  resolve.tapPromise("asleep", async (source) => {
    const { manifest, elsewhere, isAwake } = source;
    if (!manifest?.directory || isAwake) return undefined as never; // tapable's type forgets that the next one is asked then
    const { id, directory, entry } = manifest;
    missing.delete(id);
    const file = isTypeScript(entry) ? cachedFile(cacheDir, id, directory) : writtenFile(directory, entry);
    const written = file === undefined ? undefined : readWritten(file);
    if (!written && file !== undefined && isTypeScript(entry)) missing.set(id, file);
    const facts = written && factsOf(written);
    if (!facts || !written.entries) return undefined as never; // imported now, beside all others
    if (written.hasChecks && isConfigured(facts)) return undefined as never; // only its code can check the section
    const { entries } = written;
    if (elsewhere && isHostOnly(facts, entries, kinds)) return undefined as never; // refused by the import
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

/** Whether a thread or process refuses the plugin. */
function isHostOnly(facts: PluginFacts, entries: Entries, kinds: readonly AnyKind[]): boolean {
  if (unreachableService(facts)) return true;
  return kinds.some(({ name, refuse }) =>
    entries[name]?.some(({ entry }) => refuse?.(entryOf(entry, () => Promise.resolve())) !== undefined),
  );
}

/** @param resolve gets the code */
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
