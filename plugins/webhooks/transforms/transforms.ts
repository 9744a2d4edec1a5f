/**
 * The transforms of one gateway: what the directory holds is copied, compiled and tried off the main thread, and only what
 * passes goes live. A version that breaks changes nothing: the last good one stays in service, after a restart, too.
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
  /** Copies of the directory and compiled code lie in `cache/snap` there, mode 0700. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds a file may take to be evaluated with all that it imports. Default 5000. */
  readonly importMs?: number;
  readonly startThread?: StartThread;
}

/** Makes them; looks at nothing before `configure`. */
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
    else log.warn({ module, state, version, problem: slot.fault?.problem }, "a transform needs mending");
    for (const listener of listeners) listener();
  }

  /** One thing at a time. Never rejects. */
  function enqueue(task: () => Promise<void>): Promise<void> {
    return turns.take("", async () => {
      if (signal.aborted) return;
      await task().catch((err: unknown) => log.error({ err }, "the transforms directory could not be looked at"));
    });
  }

  /** After all that was enqueued. */
  const idle = () => turns.take("", () => Promise.resolve());

  async function look(): Promise<void> {
    lookIsDue = false;
    if (plan && slots.size > 0) found = await update(plan, [...slots.values()]);
  }

  /** After an event on disk; events that come before it is looked at count once. */
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

  /** Watches before the first look, so that no change falls between the two. */
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
    await idle(); // it is being looked at for the first time
    return slots.get(keyOf(ref));
  }

  async function stop(): Promise<void> {
    ending.abort();
    await versions.stop();
    await idle();
    await watching?.stop();
    await versions.stop(); // what was started meanwhile
    listeners.clear();
  }

  return {
    configure: (next) => enqueue(() => takeOver(next)),
    refresh: () => enqueue(look),
    async run(ref, call) {
      const { live, fault } = (await slotOf(ref)) ?? {};
      if (signal.aborted) throw new TransformError(`transform ${ref.module}: the gateway stops`);
      if (!live)
        throw new TransformError(`transform ${ref.module} cannot serve: ${fault?.problem ?? "nobody asked for it"}`);
      try {
        return await live.runner.run(call, ref.timeoutMs ?? TRANSFORM_TIMEOUT_MS);
      } catch (error) {
        const { message, cause } = error as Error; // what runners throw
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

/** What a slot of the former plan brings along. */
function kept(slot: Slot | undefined): Partial<Pick<Slot, "live" | "fault" | "restored">> {
  return slot ? { live: slot.live, fault: slot.fault, ...(slot.restored && { restored: true }) } : {};
}
