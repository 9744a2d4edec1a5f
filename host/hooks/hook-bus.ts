/** All hooks of one gateway: taps by plugins, emission by owners, on tapable. */
import {
  deepFreeze,
  type Denial,
  GatewayError,
  type HookEmitter,
  type HookKind,
  type HookSpec,
  type TapOptions,
} from "@svc/sdk";
import { DETAIL_CODES, type DetailCode } from "@svc/sdk/errors";
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, SyncHook } from "tapable";
import { Deadlines } from "./deadline.ts";
import { type AnyHandler, type Asked, type Emission, guard, TRACE_THROWS } from "./guard.ts";
import type { Owner } from "./owner.ts";

type Engine = AsyncSeriesHook<[unknown, Emission]> | SyncHook<[unknown, Emission]>;

/** Stages are far apart, so that the plugin order fits between two phases. */
const STAGE = { first: -200_000, early: -100_000, normal: 0, late: 100_000, last: 200_000 } as const;

const NO_KEY = "";

function createEngine(kind: HookKind): Engine {
  const args = ["input", "emission"] as const;
  switch (kind) {
    case "observe":
    case "collect":
      return new AsyncParallelHook(args as never) as unknown as Engine; // tapable's generics do not share a base type
    case "series":
      return new AsyncSeriesHook(args as never) as unknown as Engine;
    case "first":
    case "gate":
      return new AsyncSeriesBailHook(args as never) as unknown as Engine;
    case "waterfall":
      return new AsyncSeriesWaterfallHook(args as never) as unknown as Engine;
    case "trace":
      return new SyncHook(args as never) as unknown as Engine;
  }
}

/** The taps of one hook and key: tapable's engine, and the owner of each tap. */
interface Slot {
  readonly engine: Engine;
  owners: readonly Owner[];
}

interface Point {
  readonly spec: HookSpec;
  readonly slots: Map<string, Slot>;
}

/** One tap, for reports. */
export interface TapRecord {
  readonly hook: string;
  readonly key: string | undefined;
  readonly plugin: string;
}

/** Puts a gate's question to people. Resolves with `undefined` if they allow it. Never rejects. */
export type AskPeople = (
  question: Asked & {
    readonly hook: string;
    readonly key: string | undefined;
    readonly signal: AbortSignal | undefined;
  },
) => Promise<Denial | undefined>;

export class HookBus {
  /** Set by the host. Choice: without it, every question is denied. */
  askPeople: AskPeople = () => Promise.resolve({ allow: false, reason: "no one can be asked for a decision here" });
  readonly #byName = new Map<string, Point>();
  readonly #deadlines: Deadlines;
  readonly #taps = new Set<TapRecord>();
  /** Seals by gate, for plugins that are not running. */
  readonly #seals = new Map<string, readonly { readonly plugin: string }[]>();

  constructor(deadlines: Deadlines = new Deadlines()) {
    this.#deadlines = deadlines;
  }

  /** All current taps. */
  taps(): readonly TapRecord[] {
    return [...this.#taps];
  }

  /** Adds a tap. @returns a function that removes the tap; emissions in flight are not affected */
  tap(spec: HookSpec, key: string | undefined, owner: Owner, options: TapOptions, handler: AnyHandler): () => void {
    const slot = this.#slot(spec, key);
    const { engine } = slot;
    const tapOptions = { name: owner.id, stage: STAGE[options.phase ?? "normal"] + owner.order };
    const record: TapRecord = { hook: spec.name, key, plugin: owner.id };
    const untap = () => {
      if (!this.#taps.delete(record)) return;
      removeTap(engine, tapped);
      const place = slot.owners.indexOf(owner);
      slot.owners = slot.owners.filter((_, index) => index !== place);
    };
    let tapped: Function;
    if (spec.kind === "trace") {
      tapped = this.#traced(spec, owner, handler, untap);
      (engine as SyncHook<[unknown, Emission]>).tap(tapOptions, tapped as (input: unknown) => void);
    } else {
      const guarded = guard(spec, owner, options, handler, this.#deadlines);
      tapped = guarded;
      (engine as AsyncSeriesHook<[unknown, Emission]>).tapAsync(tapOptions, guarded as never); // callback types differ by kind
    }
    this.#taps.add(record);
    slot.owners = [...slot.owners, owner];
    return untap;
  }

  /**
   * Denies at a gate on behalf of a plugin that is not running, even if the hook is not declared yet.
   * @param gate `<hook>`, or `<hook>:<key>` for a keyed hook. @returns a function that removes this seal
   */
  seal(gate: string, plugin: string): () => void {
    const seal = { plugin };
    this.#seals.set(gate, [...(this.#seals.get(gate) ?? []), seal]);
    return () => {
      const left = this.#seals.get(gate)?.filter((one) => one !== seal) ?? [];
      if (left.length > 0) this.#seals.set(gate, left);
      else this.#seals.delete(gate);
    };
  }

  #sealed({ kind, name }: HookSpec, key: string | undefined): Denial | undefined {
    if (kind !== "gate" || this.#seals.size === 0) return undefined;
    const [seal] = this.#seals.get(key === undefined ? name : `${name}:${key}`) ?? [];
    return seal && { allow: false, reason: `plugin ${seal.plugin} is not running`, retryAfterMs: 1_000 };
  }

  /** Whether this declaration of a hook is compatible with its current taps: no tap uses the name with another `kind` or `keyed`. */
  agrees({ name, kind, keyed }: HookSpec): boolean {
    const used = this.#byName.get(name);
    return !used || !isTapped(used) || (used.spec.kind === kind && used.spec.keyed === keyed);
  }

  /** The emitter of a hook, for its owner. */
  emitter<H extends HookSpec>(spec: H): HookEmitter<H> {
    const emit = (input: unknown, key?: string, signal?: AbortSignal): unknown => {
      const slot = this.#byName.get(spec.name)?.slots.get(key ?? NO_KEY);
      if (!slot || slot.owners.length === 0) {
        const sealed = this.#sealed(spec, key);
        return sealed ? Promise.resolve(sealed) : unheard(spec.kind, input);
      }
      const { engine, owners } = slot;
      const emission: Emission = { key, collected: [], asked: [] };
      if (spec.kind === "trace") return (engine as SyncHook<[unknown, Emission]>).call(input, emission);
      const back = returnOfOne(owners);
      if (back) return back.then(() => emit(input, key, signal));
      const sealed = this.#sealed(spec, key);
      if (sealed) return Promise.resolve(sealed);
      if (spec.kind === "gate") deepFreeze(input);
      const done = (engine as AsyncSeriesHook<[unknown, Emission]>).promise(input, emission) as Promise<unknown>;
      if (spec.kind === "collect") return done.then(() => emission.collected);
      return spec.asks ? done.then((denial) => denial ?? this.#answerTo(spec.name, emission, signal)) : done;
    };
    const isUsed = (key?: string) =>
      (this.#byName.get(spec.name)?.slots.get(key ?? NO_KEY)?.owners.length ?? 0) > 0 ||
      this.#sealed(spec, key) !== undefined;
    return { isUsed, emit: emit as HookEmitter<H>["emit"] }; // the kind decides the result; the table in the SDK types it
  }

  /** Asks one question at a time, so that no further question is shown after a denial. */
  async #answerTo(hook: string, { key, asked }: Emission, signal?: AbortSignal): Promise<Denial | undefined> {
    for (const question of asked) {
      const denial = await this.askPeople({ ...question, hook, key, signal });
      if (denial) return denial;
    }
    return undefined;
  }

  #slot(spec: HookSpec, key: string | undefined): Slot {
    if (!this.agrees(spec)) throw new Error(`two hooks are named ${spec.name}; rename the one of ${spec.owner}`);
    let point = this.#byName.get(spec.name);
    if (!point || !isTapped(point)) this.#byName.set(spec.name, (point = { spec, slots: new Map() }));
    let slot = point.slots.get(key ?? NO_KEY);
    if (!slot) point.slots.set(key ?? NO_KEY, (slot = { engine: createEngine(spec.kind), owners: [] }));
    return slot;
  }

  /** Wraps a `trace` handler. It runs on hot paths: no promise, no deadline, and its tap is removed after `TRACE_THROWS` errors. */
  #traced(spec: HookSpec, owner: Owner, handler: AnyHandler, untap: () => void) {
    let throws = 0;
    return (input: unknown, emission: Emission): void => {
      if (owner.signal.aborted) return;
      owner.tally.hookRan();
      try {
        owner.run(() => handler(input, { key: emission.key, signal: owner.signal }));
      } catch (error) {
        owner.tally.hookFailed();
        owner.charge(error, `hook ${spec.name}`);
        if (++throws >= TRACE_THROWS) untap();
      }
    };
  }
}

function isTapped({ slots }: Point): boolean {
  for (const { owners } of slots.values()) if (owners.length > 0) return true;
  return false;
}

/** Resolves when a tapping plugin that is asleep or being replaced is back, so that it receives this emission, too; `undefined`: none is. */
function returnOfOne(owners: readonly Owner[]): Promise<void> | undefined {
  for (const owner of owners) {
    const back = owner.back();
    if (back && !owner.hold?.passes()) return back;
  }
  return undefined;
}

/** tapable has no untap: filters the list, and adds and removes a no-op interceptor to discard the compiled function. */
function removeTap(engine: Engine, tapped: Function): void {
  engine.taps = engine.taps.filter(({ fn }) => fn !== tapped) as typeof engine.taps;
  engine.intercept({});
  engine.interceptors.pop();
}

function unheard(kind: HookKind, input: unknown): unknown {
  if (kind === "trace") return undefined;
  if (kind === "waterfall") return Promise.resolve(input);
  if (kind === "collect") return Promise.resolve([]);
  return Promise.resolve(undefined);
}

/** Converts a denial to the error for the caller. @param usual `details.code` of a denial without a code of its own; default: plain `UNAVAILABLE` */
export function refusalOf({ reason, code, details, retryAfterMs }: Denial, usual?: DetailCode): GatewayError {
  const usually = usual === undefined ? "UNAVAILABLE" : DETAIL_CODES[usual].error;
  return new GatewayError(code ?? usually, reason || "denied by a plugin", {
    details: details ?? (usual && { code: usual }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
