/**
 * Hooks: their kinds, how a plugin taps one and how the owner emits it. `hook-catalogue.ts` lists them all.
 *
 * Tap inside `setup` only; a later tap throws. Within a phase, handlers run in plugin order. Each handler has the
 * deadline of its kind. An error in a handler never reaches the caller unless the kind says so.
 */
import type { Deprecation } from "./deprecation.ts";
import type { ErrorCode } from "./gateway-error.ts";

/**
 * - `observe`: all handlers run concurrently; return values are ignored, a throw is recorded.
 * - `series`: handlers run one after the other; return values are ignored, a throw is recorded and the next handler
 *   runs.
 * - `first`: the first answer ends the emission; a throw counts as no answer, unless the hook `refuses`.
 * - `gate`: a handler may only deny, or ask for approval where the hook allows it; a throw or a missed deadline denies.
 * - `waterfall`: each handler may replace the value; after a throw the value stays unchanged.
 * - `collect`: all handlers run concurrently, one item each; a throw becomes the error of that item.
 * - `trace`: synchronous, on the hot path; the third throw removes the handler.
 */
export type HookKind = "observe" | "series" | "first" | "gate" | "waterfall" | "collect" | "trace";

/** Deadline of a handler in milliseconds, by kind; 0: none (synchronous). A tap may set a shorter one. */
export const HOOK_DEADLINE_MS: Readonly<Record<HookKind, number>> = {
  observe: 30_000,
  series: 15_000,
  first: 5_000,
  gate: 5_000,
  waterfall: 5_000,
  collect: 10_000,
  trace: 0,
};

/** Denial returned by a gate handler. */
export interface Denial {
  readonly allow: false;
  /** Shown to the caller. */
  readonly reason: string;
  readonly retryAfterMs?: number;
  /** Error code for the client. Default: the code that the hook documents. */
  readonly code?: ErrorCode;
  /** `error.details` for the client. */
  readonly details?: unknown;
}

/**
 * Question returned by a gate handler: people decide after all other handlers have run. If any handler denies, nobody
 * is asked. With several questions, all must be allowed. Without an approver or an answer in time, the call is denied.
 */
export interface Ask {
  readonly allow: "ask";
  /** One line, shown to approvers, e.g. the command. */
  readonly title: string;
  /**
   * What is to be approved, as JSON: everything that matters and nothing that varies between calls, e.g. the tool, its
   * arguments and the agent. `allow-always` applies to exactly this value.
   */
  readonly subject: unknown;
  readonly agentId?: string;
  readonly sessionKey?: string;
  /** Milliseconds; default 120000. */
  readonly timeoutMs?: number;
}

/** One hook: its kind and its three facts. Created with `defineHook`. */
export interface HookSpec<
  K extends HookKind = HookKind,
  Input = unknown,
  Answer = unknown,
  Keyed extends boolean = boolean,
> {
  readonly name: string;
  readonly kind: K;
  /** Tapped with `.for(key)`; only handlers of that key run. */
  readonly keyed: Keyed;
  /** Who emits the hook: `host` or a plugin id. */
  readonly owner: string;
  readonly when: string;
  readonly returns: string;
  readonly throws: string;
  /** Milliseconds; default by kind. */
  readonly deadlineMs?: number;
  /** Gates: handlers may answer `allow: "ask"`; otherwise that answer denies. Default false. */
  readonly asks?: boolean;
  /**
   * `first`: an error thrown by a handler ends the emission, which rejects with that error. A `GatewayError` does not
   * count as a failure of the plugin. Default false.
   */
  readonly refuses?: boolean;
  /** A warning at start names the plugins that tap a deprecated hook. */
  readonly deprecated?: Deprecation;
  /** These fields only carry types; they are never set. */
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

/** Like `defineHook`, for a hook that is tapped and emitted per key. */
export function defineKeyedHook<Input, Answer = void>() {
  return <K extends HookKind>(kind: K, facts: HookFacts): HookSpec<K, Input, Answer, true> => ({
    ...facts,
    kind,
    keyed: true,
  });
}

/** Allowed return values of a handler. `undefined` always passes. */
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

/** Input of the handlers of a hook. */
export type InputOf<H> = H extends HookSpec<HookKind, infer Input, unknown, boolean> ? Input : never;

/** Second argument of a handler: facts about this call. */
export interface HookCall {
  /** Key of a keyed hook, otherwise `undefined`. */
  readonly key: string | undefined;
  /** Aborts at the deadline and when the plugin stops. */
  readonly signal: AbortSignal;
}

/** Phase and deadline of one tap. */
export interface TapOptions {
  /**
   * Default `normal`. There are phases instead of positions because "before plugin x" means nothing when x is absent.
   */
  readonly phase?: "first" | "early" | "normal" | "late" | "last";
  /** Milliseconds, at most the deadline of the hook. */
  readonly timeoutMs?: number;
  /** While the plugin sleeps, the hook neither wakes nor reaches it. Default false. */
  readonly onlyAwake?: boolean;
}

/**
 * Entry point for tapping a hook. `tap` works as in tapable, with attribution, deadlines, single completion and error
 * containment added.
 */
export interface Tappable<H> {
  tap(
    handler: (input: InputOf<H>, call: HookCall) => HandlerResult<H> | Promise<HandlerResult<H>>,
    options?: TapOptions,
  ): void;
}

/** Entry point for tapping a keyed hook: choose the key first, then tap. */
export interface KeyedTappable<H> {
  for(key: string): Tappable<H>;
}

/** How a plugin taps the given hook. */
export type HookFacade<H> =
  H extends HookSpec<HookKind, unknown, unknown, infer Keyed>
    ? Keyed extends true
      ? KeyedTappable<H>
      : Tappable<H>
    : never;

/** Result of emitting the hook, for its owner. */
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

/** Emitter of a hook, used by its owner. */
export interface HookEmitter<H> {
  /** False when no plugin taps the hook; the owner can then skip building the input. */
  isUsed(key?: string): boolean;
  /**
   * Never rejects because of a handler, unless the hook `refuses`.
   * @param key required for keyed hooks
   * @param signal gates: withdraws pending questions, which counts as a denial
   */
  emit(input: InputOf<H>, key?: string, signal?: AbortSignal): EmitResult<H>;
}
