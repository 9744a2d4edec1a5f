/**
 * The transforms of one gateway: the directory is copied, compiled and tested off the main thread, and only versions that
 * pass go live. A broken version changes nothing: the last good version stays live, also after a restart.
 */
import { type Clock, type Logger, type Stop, Turns } from "@svc/sdk";
import { TRANSFORM_TIMEOUT_MS, type TransformPlan, type WebhookTransformRef } from "@svc/sdk/webhooks";
import { TransformError, type Transforms } from "./contract.ts";
import { createSlot, infoOf, keyOf, type Slot, stateOf } from "./slots.ts";
import { startThread as startRealThread, type StartThread } from "./thread.ts";
import { createUpdate, type DirectoryProblem } from "./update.ts";
import { createVersions } from "./versions.ts";
import { watchTransforms } from "./watch.ts";

export interface TransformsOptions {
  /** State directory; copies of the transforms directory and compiled code are in its `cache/snap`, mode 0700. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds for the evaluation of a file and all its imports. Default 5000. */
  readonly importMs?: number;
  readonly startThread?: StartThread;
}

/** Creates the transforms; reads nothing before `configure`. */
export function createTransforms(options: TransformsOptions): Transforms {
  const { stateDir, clock, log, importMs = 5_000, startThread = startRealThread } = options;
  const listeners = new Set<() => void>();
  const ending = new AbortController();
  const { signal } = ending;
  const versions = createVersions({ clock, log, startThread, importMs });
  const update = createUpdate({ stateDir, clock, log, importMs, startThread, signal, versions, changed });
  let slots: ReadonlyMap<string, Slot> = new Map();
  let plan: TransformPlan | undefined;
  let found: readonly DirectoryProblem[] = [];
  let watching: { readonly place: string; readonly stop: Stop } | undefined;
  const turns = new Turns();
  let lookIsDue = false;
  let stopped: Promise<void> | undefined;

  function changed(slot: Slot): void {
    const { module } = slot.candidate;
    const [state, version] = [stateOf(slot), slot.live?.hash.slice(0, 12)];
    if (state === "live") log.info({ module, version }, "a transform is live");
    else
      log.warn(
        { module, state, version, problem: slot.fault?.problem },
        "a transform cannot be used in its newest version",
      );
    for (const listener of listeners) listener();
  }

  /** Runs one task at a time. Never rejects. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    return turns.take("", async () => {
      if (signal.aborted) return;
      await task().catch((err: unknown) => log.error({ err }, "the transforms directory could not be read"));
    });
  }

  /** Resolves after all tasks enqueued before. */
  const idle = () => turns.take("", () => Promise.resolve());

  async function look(): Promise<void> {
    lookIsDue = false;
    if (plan && slots.size > 0) found = await update(plan, [...slots.values()]);
  }

  /** Called after a change on disk; changes before the next read are combined. */
  function lookSoon(): void {
    if (lookIsDue) return;
    lookIsDue = true;
    void enqueue(look);
  }

  async function takeOver(next: TransformPlan): Promise<void> {
    const former = slots;
    plan = next;
    const wanted = new Map<string, Slot>();
    for (const ref of next.refs) {
      const key = keyOf(ref);
      if (!wanted.has(key)) wanted.set(key, { ...createSlot(ref), ...kept(former.get(key)) });
    }
    slots = wanted;
    for (const [key, { live }] of former) if (live && !wanted.has(key)) versions.retire(live);
    found = [];
    await watch(next);
    await look();
  }

  /** Starts watching before the first read, so that no change is missed between the two. */
  async function watch({ root, directory, refs }: TransformPlan): Promise<void> {
    const place = refs.length === 0 ? undefined : JSON.stringify([root, directory]);
    if (watching?.place === place) return;
    await watching?.stop();
    watching = undefined;
    if (place === undefined) return;
    const stop = await watchTransforms({ root, directory, clock, log, changed: lookSoon });
    watching = { place, stop };
  }

  async function slotOf(ref: WebhookTransformRef): Promise<Slot | undefined> {
    const slot = slots.get(keyOf(ref));
    if (slot?.live || slot?.fault) return slot;
    await idle(); // the first check is in progress
    return slots.get(keyOf(ref));
  }

  async function stop(): Promise<void> {
    ending.abort();
    await versions.stop();
    await idle();
    await watching?.stop();
    await versions.stop(); // versions that were started meanwhile
    listeners.clear();
  }

  return {
    configure: (next) => enqueue(() => takeOver(next)),
    refresh: () => enqueue(look),
    async run(ref, call) {
      const { live, fault } = (await slotOf(ref)) ?? {};
      if (signal.aborted) throw new TransformError(`transform ${ref.module}: the gateway is stopping`);
      if (!live)
        throw new TransformError(`transform ${ref.module} cannot serve: ${fault?.problem ?? "no mapping uses it"}`);
      try {
        return await live.runner.run(call, ref.timeoutMs ?? TRANSFORM_TIMEOUT_MS);
      } catch (error) {
        const { message, cause } = error as Error; // runners throw errors only
        throw new TransformError(`transform ${ref.module}: ${message}`, { cause });
      }
    },
    info: (ref) => infoOf(ref, slots.get(keyOf(ref))),
    problems: () => found,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => (stopped ??= stop()),
  };
}

/** State that a slot takes over from the previous plan. */
function kept(slot: Slot | undefined): Partial<Pick<Slot, "live" | "fault" | "restored">> {
  return slot ? { live: slot.live, fault: slot.fault, ...(slot.restored && { restored: true }) } : {};
}
