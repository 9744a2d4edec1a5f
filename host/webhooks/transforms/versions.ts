/** Puts what passed the checks in service: in this thread, or in one of its own. */
import type { Clock } from "@svc/sdk";
import { within } from "../../clock.ts";
import { sdkModules } from "../../kernel/sdk-modules.ts";
import type { Passed } from "./check.ts";
import type { Program } from "./compile.ts";
import { createLinker, type Linker } from "./link.ts";
import { pickTransform } from "./pick.ts";
import { describeThrown, ModuleProblem } from "./problem.ts";
import { SDK_ENTRIES } from "./resolve.ts";
import { createHostRunner, type Runner } from "./runner.ts";
import type { Live, Slot } from "./slots.ts";
import type { StartThread } from "./thread.ts";
import { createWorkerRunner } from "./worker-runner.ts";

export interface VersionsOptions {
  readonly clock: Clock;
  readonly startThread: StartThread;
  readonly importMs: number;
}

export interface Versions {
  /** @throws Error whose message begins with the file */
  start(slot: Slot, place: { readonly hash: string; readonly directory: string }, passed: Passed): Promise<Live>;
  /** Takes no further calls; ends when those under way are over. */
  retire(live: Live): void;
  /** Forgets the code of other directories, as far as nothing serves from it. */
  keepOnly(hashes: ReadonlySet<string>): void;
  /** Ends all at once. */
  stop(): Promise<void>;
}

export function createVersions({ clock, startThread, importMs }: VersionsOptions): Versions {
  const runners = new Set<Runner>();
  /** Transforms of one directory that run here share its files, as modules do. */
  const loaded = new Map<string, { readonly linker: Linker; readonly program: Program }>();

  async function hostRunner(slot: Slot, hash: string, directory: string, passed: Passed): Promise<Runner> {
    const { module, export: name } = slot.candidate;
    const sdk = await sdkModules(SDK_ENTRIES);
    const program: Program = loaded.get(hash)?.program ?? new Map();
    const linker = loaded.get(hash)?.linker ?? createLinker({ directory, program, sdk });
    for (const [file, compiled] of passed.program) program.set(file, { ...program.get(file), ...compiled });
    loaded.set(hash, { linker, program });
    try {
      const exports = await within(importMs, clock, linker.load(module));
      return createHostRunner(pickTransform(exports, name, module), directory, clock);
    } catch (error) {
      loaded.delete(hash); // the next attempt evaluates everything anew
      throw error;
    }
  }

  async function workerRunner({ candidate }: Slot, directory: string, { program }: Passed): Promise<Runner> {
    const { module, export: name } = candidate;
    const task = { kind: "serve", directory, program, module, export: name } as const;
    const runner = createWorkerRunner(task, { clock, startThread });
    runners.add(runner); // can be stopped from now on
    try {
      await runner.ready;
      return runner;
    } catch (error) {
      runners.delete(runner);
      throw error;
    }
  }

  return {
    async start(slot, { hash, directory }, passed) {
      try {
        const inWorker = slot.placement === "worker";
        const runner = await (inWorker
          ? workerRunner(slot, directory, passed)
          : hostRunner(slot, hash, directory, passed));
        runners.add(runner);
        return { hash, runner, examples: passed.examples };
      } catch (cause) {
        if (cause instanceof ModuleProblem) throw cause;
        const why =
          slot.placement === "worker" && cause instanceof Error ? cause.message : describeThrown(cause, directory);
        throw new ModuleProblem(`${slot.candidate.module}: fails while it is loaded: ${why}`, { cause });
      }
    },
    retire({ runner }) {
      void runner.retire().finally(() => runners.delete(runner));
    },
    keepOnly(hashes) {
      for (const hash of loaded.keys()) if (!hashes.has(hash)) loaded.delete(hash);
    },
    async stop() {
      await Promise.all([...runners].map((runner) => runner.stop()));
      runners.clear();
      loaded.clear();
    },
  };
}
