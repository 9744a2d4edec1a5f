/**
 * Contracts: one value defines a method's name, scope, params, result and summary; everything else is derived from it.
 */
import type { Deprecation } from "./deprecation.ts";
import type { Scope } from "./principal.ts";
import type { Static, TSchema } from "./schema.ts";

/** Definition of a method. */
export interface MethodSpec<P extends TSchema = TSchema, R extends TSchema = TSchema> {
  /** Wire name. Default `<namespace>.<key>`. */
  readonly name?: string;
  /** One line for people: help, reference, catalog. */
  readonly summary: string;
  /** Scope an operator needs; `none`: every authenticated connection may call it. */
  readonly scope: Scope | "none";
  /** Role that may call it; default `operator`. Spec: protocol/authorization.md §2. */
  readonly role?: "operator" | "node" | "any";
  /**
   * The method delivers what other calls of its plugin wait for. While the plugin is being replaced, it still reaches
   * the old version so that those calls can finish. Default false: it waits for the new version.
   */
  readonly answers?: boolean;
  /** False: not listed in `features.methods`. Default true. */
  readonly advertised?: boolean;
  /** A warning names each plugin on its first call of a deprecated method. */
  readonly deprecated?: Deprecation;
  /** Rate limit shared with all methods of the same bucket; consumed after authorization and before validation. */
  readonly limit?: RateLimit;
  readonly params: P;
  readonly result: R;
}

/** Rate limit of methods, per device and client address. Spec: protocol/authorization.md §4. */
export interface RateLimit {
  readonly bucket: string;
  readonly calls: number;
  /** Milliseconds; the window starts at the first call in it. */
  readonly windowMs: number;
}

/** Rate limit of everything that may restart the gateway: 3 calls in 60 s. Spec: §8. */
export const CONTROL_PLANE_WRITES: RateLimit = { bucket: "control-plane-write", calls: 3, windowMs: 60_000 };

/** A method of a contract, with its wire name. */
export interface Method<P extends TSchema = TSchema, R extends TSchema = TSchema> extends MethodSpec<P, R> {
  readonly name: string;
}

/** The methods of a namespace by key. */
export type Contract<M extends Record<string, MethodSpec> = Record<string, MethodSpec>> = {
  readonly [K in keyof M]: M[K] extends MethodSpec<infer P, infer R> ? Method<P, R> : never;
};

/** Type of the params of a method. */
export type ParamsOf<M> = M extends MethodSpec<infer P, TSchema> ? Static<P> : never;
/** Type of the result of a method. */
export type ResultOf<M> = M extends MethodSpec<TSchema, infer R> ? Static<R> : never;

/**
 * Declares a namespace. Share the value: the plugin serves it, the client calls it.
 * @param namespace prefix of the wire names; a spec's own `name` takes precedence over `<namespace>.<key>`
 */
export function defineContract<const M extends Record<string, MethodSpec>>(namespace: string, methods: M): Contract<M> {
  const entries = Object.entries(methods).map(([key, spec]) => [
    key,
    { ...spec, name: spec.name ?? `${namespace}.${key}` },
  ]);
  return Object.fromEntries(entries) as Contract<M>;
}

/** Definition of an event. */
export interface EventSpec<P extends TSchema = TSchema> {
  /** Wire name. */
  readonly name: string;
  readonly summary: string;
  readonly payload: P;
  /** Only operators with this scope receive the event, which then has no `seq`. Default: every connection. */
  readonly scope?: Scope;
  /**
   * Older gateways sent the event to every connection; `gateway.compat.chatEventsToAll` restores this. Nodes receive it
   * only if they are named as receivers. Requires `scope`. Default false.
   */
  readonly formerlyForAll?: boolean;
  /** A slow reader misses the event instead of being disconnected. Default false. Spec: §6 rule 2. */
  readonly droppable?: boolean;
  /**
   * It tells something about one gateway: of several gateways on one state, only the clients of this one receive it, without `seq`. Default
   * false: it tells something about the state, and the clients of all gateways receive it.
   */
  readonly local?: boolean;
  /** A state snapshot: each emission increments its version and carries `stateVersion`. Spec: §2.1. */
  readonly snapshot?: boolean;
}

/** Declares an event; its owner gets the emitter from `gateway.event`. */
export function defineEvent<P extends TSchema>(spec: EventSpec<P>): EventSpec<P> {
  return spec;
}

/** Type of the payload of an event. */
export type PayloadOf<E> = E extends EventSpec<infer P> ? Static<P> : never;
