/** Activates versions that passed the checks: in this thread, or in a worker thread. */
import { basename } from "node:path";
import { type Clock, type Logger, Turns, untilAborted, withStrayErrors } from "@svc/sdk";
import type { Copy } from "./copy.ts";
import { createLoader, type Load } from "./load.ts";
import { pickTransform } from "./pick.ts";
import { describeThrown, ModuleProblem } from "./problem.ts";
import { createHostRunner, type Runner } from "./runner.ts";
import type { Live, Slot } from "./slots.ts";
import type { StartThread } from "./thread.ts";
import { createWorkerRunner } from "./worker-runner.ts";

export interface VersionsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly startThread: StartThread;
  readonly importMs: number;
}

/** Milliseconds between two log lines about stray errors of one transform. */
const STRAY_LOG_MS = 60_000;

export interface Versions {
  /** @throws Error whose message begins with the file */
  start(slot: Slot, copy: Copy, examples: number): Promise<Live>;
  /** Accepts no further calls; ends when the current calls have ended. */
  retire(live: Live): void;
  /** Releases the code of all other copies. */
  keepOnly(places: ReadonlySet<string>): void;
  /** Ends all versions at once. */
  stop(): Promise<void>;
}

export function createVersions({ clock, log, startThread, importMs }: VersionsOptions): Versions {
  const runners = new Set<Runner>();
  /** Loaders by path of the copy: transforms of one copy that run in this thread share its modules. */
  const loaders = new Map<string, Promise<Load>>();
  const turns = new Turns();

  /** Loads one file after the other: a file that is still being evaluated cannot be shared yet. */
  function load(copy: Copy, module: string): Promise<unknown> {
    return turns.take("", async () => {
      const loader = loaders.get(copy.place) ?? createLoader(copy);
      loaders.set(copy.place, loader);
      const late = new AbortController();
      const cancel = clock.setTimeout(() => late.abort(new Error(`not done within ${importMs} ms`)), importMs);
      try {
        return await untilAborted((await loader)(module), late.signal);
      } catch (error) {
        loaders.delete(copy.place); // the next attempt evaluates everything again
        throw error;
      } finally {
        cancel();
      }
    });
  }

  async function hostRunner({ candidate }: Slot, copy: Copy, stray: (error: unknown) => void): Promise<Runner> {
    const { module, export: name } = candidate;
    const exports = await withStrayErrors(stray, () => load(copy, module));
    return createHostRunner(pickTransform(exports, name, module), copy.place, clock, stray);
  }

  /** Counts the stray errors of a version, with file and line. */
  function strayCounter({ module }: Slot["candidate"], { place }: Copy, strays: Live["strays"]) {
    let loggedAt = Number.NEGATIVE_INFINITY;
    return (error: unknown) => {
      strays.count++;
      strays.last = `left an unhandled error: ${describeThrown(error, place)}`;
      if (clock.elapsed() - loggedAt < STRAY_LOG_MS) return;
      loggedAt = clock.elapsed();
      log.error({ module, errors: strays.count, problem: strays.last }, `transform ${module} ${strays.last}`);
    };
  }

  async function workerRunner({ candidate }: Slot, copy: Copy): Promise<Runner> {
    const { module, export: name } = candidate;
    const task = { kind: "serve", copy, module, export: name } as const;
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
    async start(slot, copy, examples) {
      const inWorker = slot.placement === "worker";
      const strays: Live["strays"] = { count: 0 };
      try {
        const stray = strayCounter(slot.candidate, copy, strays);
        const runner = await (inWorker ? workerRunner(slot, copy) : hostRunner(slot, copy, stray));
        runners.add(runner);
        return { hash: basename(copy.place), runner, examples, strays };
      } catch (cause) {
        if (cause instanceof ModuleProblem) throw cause;
        const why = inWorker && cause instanceof Error ? cause.message : describeThrown(cause, copy.place);
        throw new ModuleProblem(`${slot.candidate.module}: fails to load: ${why}`, { cause });
      }
    },
    retire({ runner }) {
      void runner.retire().finally(() => runners.delete(runner));
    },
    keepOnly(places) {
      for (const place of loaders.keys()) if (!places.has(place)) loaders.delete(place);
    },
    async stop() {
      await Promise.all([...runners].map((runner) => runner.stop()));
      runners.clear();
      loaders.clear();
    },
  };
}
