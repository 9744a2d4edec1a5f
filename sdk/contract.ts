/** Contracts: one value says a method's name, scope, params, result and summary; all else follows from it. */
import type { Deprecation } from "./deprecation.ts";
import type { Scope } from "./principal.ts";
import type { Static, TSchema } from "./schema.ts";

/** What a method is, written once. */
export interface MethodSpec<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  /** Wire name. Default `<namespace>.<key>`. */
  readonly name?: string;
  /** One line for people: help, reference, catalogue. */
  readonly summary: string;
  /** Scope an operator needs; `none` lets every authenticated connection call it. */
  readonly scope: Scope | "none";
  /** Which role may call it; default `operator`. Spec: protocol/authorization.md §2. */
  readonly role?: "operator" | "node" | "any";
  /**
   * It brings what other calls of its plugin wait for: while the plugin is replaced it still reaches the old version, so that
   * those can end. Default false: it waits for the new one.
   */
  readonly answers?: boolean;
  /** Clients are not told about it in `features.methods` when false. Default true. */
  readonly advertised?: boolean;
  /** Plugins that call it are named when they do so first. */
  readonly deprecated?: Deprecation;
  /** Budget it shares with all methods of the same bucket; consumed after authorisation and before validation. */
  readonly limit?: RateLimit;
  readonly params: P;
  readonly result: R;
}

/** How often methods may be called, by device and client address. Spec: protocol/authorization.md §4. */
export interface RateLimit {
  readonly bucket: string;
  readonly calls: number;
  /** Milliseconds; the window starts at the first call in it. */
  readonly windowMs: number;
}

/** Budget of everything that may restart the gateway: 3 calls in 60 s. Spec: §8. */
export const CONTROL_PLANE_WRITES: RateLimit = { bucket: "control-plane-write", calls: 3, windowMs: 60_000 };

/** A method of a contract: its spec with the wire name filled in. */
export interface Method<P extends TSchema = TSchema, R extends TSchema = TSchema> extends MethodSpec<P, R> {
  readonly name: string;
}

/** A namespace's methods by key. */
export type Contract<M extends Record<string, MethodSpec> = Record<string, MethodSpec>> = {
  readonly [K in keyof M]: M[K] extends MethodSpec<infer P, infer R> ? Method<P, R> : never;
};

/** Type of the params of a method. */
export type ParamsOf<M> = M extends MethodSpec<infer P, TSchema> ? Static<P> : never;
/** Type of the result of a method. */
export type ResultOf<M> = M extends MethodSpec<TSchema, infer R> ? Static<R> : never;

/**
 * Declares a namespace. Share the value: the plugin serves it, the client calls it.
 * @param namespace prefix of the wire names; a spec's own `name` wins over `<namespace>.<key>`.
 */
export function defineContract<const M extends Record<string, MethodSpec>>(namespace: string, methods: M): Contract<M> {
  const entries = Object.entries(methods).map(([key, spec]) => [
    key,
    { ...spec, name: spec.name ?? `${namespace}.${key}` },
  ]);
  return Object.fromEntries(entries) as Contract<M>;
}

/** What an event is, written once. */
export interface EventSpec<P extends TSchema = TSchema> {
  /** Wire name. */
  readonly name: string;
  readonly summary: string;
  readonly payload: P;
  /** Only operators holding this scope receive it; such events carry no `seq`. Default: every connection. */
  readonly scope?: Scope;
  /**
   * Older gateways sent it to every connection: `gateway.compat.chatEventsToAll` does so again. A node gets it where it is
   * named as a receiver. Needs `scope`. Default false.
   */
  readonly formerlyForAll?: boolean;
  /** A slow reader misses it instead of being cut off. Default false. Spec: §6 rule 2. */
  readonly droppable?: boolean;
  /** A state snapshot: each emission raises its version and carries `stateVersion`. Spec: §2.1. */
  readonly snapshot?: boolean;
}

/** Declares an event; the plugin that owns it gets the emitter from `gateway.event`. */
export function defineEvent<P extends TSchema>(spec: EventSpec<P>): EventSpec<P> {
  return spec;
}

/** Type of the payload of an event. */
export type PayloadOf<E> = E extends EventSpec<infer P> ? Static<P> : never;
