/**
 * Wraps a plugin's handler for tapable. The wrapper attributes errors, enforces the deadline, completes exactly once,
 * and handles failures as the kind of the hook requires.
 *
 * Raw tapable leaves a caller pending forever when the second handler throws before it returns a promise, runs later
 * handlers twice when a callback fires twice, accepts `null` as a result, and has neither deadlines nor attribution.
 */
import {
  type Ask,
  type Denial,
  HOOK_DEADLINE_MS,
  type HookCall,
  type HookSpec,
  isGatewayError,
  messageOf,
  type TapOptions,
} from "@svc/sdk";
import type { Deadlines } from "./deadline.ts";
import type { Charge, Owner } from "./owner.ts";
import { WorkSignal } from "./work-signal.ts";

/** A plugin's handler, for every kind of hook. */
export type AnyHandler = (input: unknown, call: HookCall) => unknown;

/** State of one emission, passed to all handlers. */
export interface Emission {
  readonly key: string | undefined;
  /** Filled by `collect` handlers. */
  readonly collected: { plugin: string; value?: unknown; error?: string }[];
  /** Filled by `gate` handlers that ask for a human decision. */
  readonly asked: Asked[];
}

/** A question returned by a handler of a gate. */
export interface Asked {
  readonly plugin: string;
  readonly ask: Ask;
}

type Done = (error: unknown, answer?: unknown) => void;

/** Number of throws after which the tap of a `trace` handler is removed. */
export const TRACE_THROWS = 3;

/** Wraps a handler so that it completes exactly once. */
export function guard(spec: HookSpec, owner: Owner, options: TapOptions, handler: AnyHandler, deadlines: Deadlines) {
  const kindDeadlineMs = spec.deadlineMs ?? HOOK_DEADLINE_MS[spec.kind];
  const deadlineMs = Math.min(options.timeoutMs ?? kindDeadlineMs, kindDeadlineMs);
  const where = `hook ${spec.name}`;
  /** Time of the last missed deadline that counted. monotonic ms */
  let missedAt = Number.NEGATIVE_INFINITY;

  return (input: unknown, emission: Emission, callback: Done): void => {
    const call = new GuardedCall(emission.key, owner.signal);
    let settled = false;
    const settle = (answer: unknown) => {
      if (settled) return;
      settled = true;
      call.work.ended();
      callback(undefined, answer);
    };
    const fail = (error: unknown, charge?: Charge) => {
      if (settled) return;
      if (spec.refuses) return refuse(error);
      owner.tally.hookFailed();
      owner.charge(error, where, charge);
      settle(onFailure(spec, owner, emission, error));
    };
    /** For hooks with `refuses`: an error refuses the caller. Since any caller can provoke it, it does not count towards quarantine. */
    const refuse = (error: unknown) => {
      settled = true;
      call.work.ended();
      if (!isGatewayError(error)) {
        owner.tally.hookFailed();
        owner.charge(error, where, "caller");
      }
      callback(error);
    };
    if (owner.signal.aborted) return settle(spec.kind === "gate" ? sealed(owner) : undefined);

    owner.tally.hookRan();
    let result: unknown;
    try {
      result = owner.run(() => handler(input, call));
    } catch (error) {
      return fail(error);
    }
    if (!isThenable(result)) return settle(accept(spec, owner, emission, result));

    const begun = performance.now();
    const disarm = deadlines.arm(deadlineMs, () => {
      // Choice: only one of the calls delayed by the same stall counts towards quarantine: what they wait for may be busy for other callers.
      const isSameStall = begun <= missedAt;
      if (!isSameStall) missedAt = performance.now();
      fail(new Error(`no answer within ${deadlineMs} ms`), isSameStall ? "caller" : "counts");
      call.work.abort();
    });
    result.then(
      (value) => {
        disarm();
        settle(settled ? undefined : accept(spec, owner, emission, value));
      },
      (error: unknown) => {
        disarm();
        fail(error);
      },
    );
  };
}

/** The `HookCall` of one handler. */
class GuardedCall implements HookCall {
  readonly key: string | undefined;
  readonly work: WorkSignal;

  constructor(key: string | undefined, ownerSignal: AbortSignal) {
    this.key = key;
    this.work = new WorkSignal(ownerSignal);
  }

  get signal(): AbortSignal {
    return this.work.get();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Converts a handler's return value for tapable. A gate has no explicit yes; `null` counts as `undefined`. */
function accept(spec: HookSpec, owner: Owner, emission: Emission, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  switch (spec.kind) {
    case "first":
    case "waterfall":
      return value;
    case "gate":
      if (isAsk(value)) return asked(spec, owner, emission, value);
      return isDenial(value) ? value : undefined;
    case "collect":
      emission.collected.push({ plugin: owner.id, value });
      return undefined;
    default:
      return undefined;
  }
}

function onFailure(spec: HookSpec, owner: Owner, emission: Emission, error: unknown): unknown {
  if (spec.kind === "gate") {
    return { allow: false, reason: `plugin ${owner.id} could not decide` } satisfies Denial;
  }
  if (spec.kind === "collect") {
    emission.collected.push({ plugin: owner.id, error: messageOf(error) });
  }
  return undefined;
}

/** Denial by a gate whose plugin has stopped. */
function sealed(owner: Owner): Denial {
  return { allow: false, reason: `plugin ${owner.id} is not running`, retryAfterMs: 1_000 };
}

/** Collects a question; it is asked after all handlers have run, so that a later denial wins. */
function asked(spec: HookSpec, owner: Owner, emission: Emission, ask: Ask): Denial | undefined {
  const isReadable = typeof ask.title === "string" && ask.title.trim() !== "" && ask.subject !== undefined;
  if (spec.asks && isReadable) return void emission.asked.push({ plugin: owner.id, ask });
  const why = spec.asks ? "its question has no title or no subject" : "this gate does not support questions";
  owner.tally.hookFailed();
  owner.charge(new Error(`asked for a human decision, but ${why}`), `hook ${spec.name}`);
  return { allow: false, reason: `plugin ${owner.id} asked for a human decision, but ${why}` };
}

function isAsk(value: unknown): value is Ask {
  return typeof value === "object" && value !== null && "allow" in value && value.allow === "ask";
}

function isDenial(value: unknown): value is Denial {
  return typeof value === "object" && value !== null && "allow" in value && value.allow === false;
}
