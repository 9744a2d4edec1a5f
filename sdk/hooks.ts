/**
 * Hooks: the kinds, how a plugin taps one, and how its owner emits it. The catalogue is `hook-catalogue.ts`.
 *
 * Tap inside `setup` only: later taps throw. Within a phase taps run in plugin order. A handler has the
 * deadline of its kind; what it throws never reaches the caller except where the kind says so.
 */
import type { Deprecation } from "./deprecation.ts";
import type { ErrorCode } from "./gateway-error.ts";

/**
 * - `observe`: all run at once, nothing is returned, a throw is recorded.
 * - `series`: one after the other, nothing is returned, a throw is recorded and the next runs.
 * - `first`: the first answer ends it; a throw counts as no answer, unless the hook `refuses`.
 * - `gate`: a handler may only deny, or ask people where the hook says so; a throw or a missed deadline denies.
 * - `waterfall`: each may replace the value; a throw leaves it as it was.
 * - `collect`: all run at once, one item each; a throw becomes that item's error.
 * - `trace`: synchronous and on the hot path; three throws remove the tap.
 */
export type HookKind = "observe" | "series" | "first" | "gate" | "waterfall" | "collect" | "trace";

/** Milliseconds a handler may take, by kind; 0 means none (synchronous). A tap may ask for less. */
export const HOOK_DEADLINE_MS: Readonly<Record<HookKind, number>> = {
  observe: 30_000,
  series: 15_000,
  first: 5_000,
  gate: 5_000,
  waterfall: 5_000,
  collect: 10_000,
  trace: 0,
};

/** A gate's no. */
export interface Denial {
  readonly allow: false;
  /** Shown to whoever asked. */
  readonly reason: string;
  readonly retryAfterMs?: number;
  /** Error code for the client. Default: what the hook says. */
  readonly code?: ErrorCode;
  /** `error.details` for the client. */
  readonly details?: unknown;
}

/**
 * A gate's question: people decide, after all other handlers have had their say. A denial of any handler wins without
 * anybody being asked; of several questions all have to be allowed. Nobody to ask, or no answer in time: denied.
 */
export interface Ask {
  readonly allow: "ask";
  /** One line, shown to people, e.g. the command. */
  readonly title: string;
  /**
   * What is asked for, as JSON: all that matters of it, and nothing that changes from one time to the next, e.g. the
   * tool, its arguments and the agent. An `allow-always` holds for exactly this.
   */
  readonly subject: unknown;
  readonly agentId?: string;
  readonly sessionKey?: string;
  /** Milliseconds; default 120000. */
  readonly timeoutMs?: number;
}

/** One hook: its kind and its three facts. Make one with `defineHook`. */
export interface HookSpec<
  K extends HookKind = HookKind,
  Input = unknown,
  Answer = unknown,
  Keyed extends boolean = boolean,
> {
  readonly name: string;
  readonly kind: K;
  /** Tapped with `.for(key)`; only taps of that key run. */
  readonly keyed: Keyed;
  /** Who emits it: `host` or a plugin id. */
  readonly owner: string;
  readonly when: string;
  readonly returns: string;
  readonly throws: string;
  /** Milliseconds; default by kind. */
  readonly deadlineMs?: number;
  /** Gates: an answer with `allow: "ask"` is taken; elsewhere it denies. Default false. */
  readonly asks?: boolean;
  /** `first`: what a handler throws ends the emission, which rejects with it. A `GatewayError` is no failure of the plugin. Default false. */
  readonly refuses?: boolean;
  /** Plugins that tap it are named at their start. */
  readonly deprecated?: Deprecation;
  /** Carry the types only; never set. */
  readonly input?: Input;
  readonly answer?: Answer;
}

type HookFacts = Pick<
  HookSpec,
  "name" | "owner" | "when" | "returns" | "throws" | "deadlineMs" | "asks" | "refuses" | "deprecated"
>;

/** Declares a hook: `defineHook<{ text: string }>()("waterfall", { name, owner, when, returns, throws })`. */
export function defineHook<Input, Answer = void>() {
  return <K extends HookKind>(kind: K, facts: HookFacts): HookSpec<K, Input, Answer, false> => ({
    ...facts,
    kind,
    keyed: false,
  });
}

/** As `defineHook`, tapped and emitted per key. */
export function defineKeyedHook<Input, Answer = void>() {
  return <K extends HookKind>(kind: K, facts: HookFacts): HookSpec<K, Input, Answer, true> => ({
    ...facts,
    kind,
    keyed: true,
  });
}

/** What a handler of the hook may return. `undefined` always passes. */
export type HandlerResult<H> =
  H extends HookSpec<infer K, infer Input, infer Answer, boolean>
    ? K extends "first"
      ? Answer | undefined | void
      : K extends "gate"
        ? Denial | Ask | undefined | void
        : K extends "waterfall"
          ? Input | undefined | void
          : K extends "collect"
            ? Answer | undefined
            : void
    : never;

/** What handlers of the hook get. */
export type InputOf<H> = H extends HookSpec<HookKind, infer Input, unknown, boolean> ? Input : never;

/** Tells a handler about its own call. */
export interface HookCall {
  /** Key of a keyed hook, else `undefined`. */
  readonly key: string | undefined;
  /** Aborts at the deadline and when the plugin stops. */
  readonly signal: AbortSignal;
}

/** Place and patience of one tap. */
export interface TapOptions {
  /** Default `normal`. Phases, not positions: "before plugin x" means nothing when x is absent. */
  readonly phase?: "first" | "early" | "normal" | "late" | "last";
  /** Milliseconds, at most the hook's own deadline. */
  readonly timeoutMs?: number;
  /** A call of the hook while the plugin sleeps neither wakes it nor reaches it. Default false. */
  readonly onlyAwake?: boolean;
}

/** Where a plugin taps: tapable's words, with attribution, deadline, once-only completion and containment added. */
export interface Tappable<H> {
  tap(
    handler: (input: InputOf<H>, call: HookCall) => HandlerResult<H> | Promise<HandlerResult<H>>,
    options?: TapOptions,
  ): void;
}

/** Where a plugin taps a keyed hook: first the key, then as usual. */
export interface KeyedTappable<H> {
  for(key: string): Tappable<H>;
}

/** The way a plugin taps the given hook. */
export type HookFacade<H> =
  H extends HookSpec<HookKind, unknown, unknown, infer Keyed>
    ? Keyed extends true
      ? KeyedTappable<H>
      : Tappable<H>
    : never;

/** What emitting gives back to the owner. */
export type EmitResult<H> =
  H extends HookSpec<infer K, infer Input, infer Answer, boolean>
    ? K extends "first"
      ? Promise<Answer | undefined>
      : K extends "gate"
        ? Promise<Denial | undefined>
        : K extends "waterfall"
          ? Promise<Input>
          : K extends "collect"
            ? Promise<Collected<Answer>[]>
            : K extends "trace"
              ? void
              : Promise<void>
    : never;

/** One item of a `collect` hook. */
export interface Collected<Answer> {
  readonly plugin: string;
  readonly value?: Answer;
  readonly error?: string;
}

/** The owner's side of a hook. */
export interface HookEmitter<H> {
  /** False when nobody tapped it: skip the work of building the input. */
  isUsed(key?: string): boolean;
  /**
   * Never rejects because of a handler, unless the hook `refuses`.
   * @param key required for keyed hooks
   * @param signal gates: takes the questions back that people are being asked; it counts as denied
   */
  emit(input: InputOf<H>, key?: string, signal?: AbortSignal): EmitResult<H>;
}
