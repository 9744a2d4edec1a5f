/** Typed service tokens: plugins use each other's services without importing each other. */

import type { Deprecation } from "./deprecation.ts";

/** Identifies a service. The type parameter is the type of its value. */
export interface ServiceToken<T> {
  readonly kind: "service";
  readonly id: string;
  /** Semver version of the service's interface; a consumer's token must have the same major version. */
  readonly version: string;
  /** What it is for, who provides it and who uses it. */
  readonly summary?: string;
  /**
   * All members are data or methods that return promises, so the service can be used from another thread or process.
   */
  readonly remotable?: boolean;
  /** A warning at start names the plugins that require a deprecated service. */
  readonly deprecated?: Deprecation;
  /** Only carries the type; never set. */
  readonly type?: T;
}

/** An optional requirement: if absent, the service is `undefined` and the plugin still starts. */
export interface OptionalToken<T> {
  readonly kind: "optional";
  readonly token: ServiceToken<T>;
}

/** A live requirement: a handle that is resolved at each use and does not affect the start order. */
export interface LiveToken<T> {
  readonly kind: "live";
  readonly token: ServiceToken<T>;
}

/** Handle of a live requirement. */
export interface Live<T> {
  /** The current value of the provider; `undefined` if there is none. */
  get(): T | undefined;
}

/** One entry of `requires`. */
export type Requirement = ServiceToken<unknown> | OptionalToken<unknown> | LiveToken<unknown>;
/** All requirements of a plugin, by the name used in `gateway.services`. */
export type Requirements = Readonly<Record<string, Requirement>>;

/** Type of `gateway.services` for a plugin's `requires`. */
export type ServicesOf<R extends Requirements> = {
  readonly [K in keyof R]: R[K] extends ServiceToken<infer T>
    ? T
    : R[K] extends OptionalToken<infer T>
      ? T | undefined
      : R[K] extends LiveToken<infer T>
        ? Live<T>
        : never;
};

/**
 * Creates a token: `defineService<Storage>()("storage", "1.0.0")`. Two calls, so that the type parameter is given and
 * the literals are inferred.
 */
export function defineService<T>(): (
  id: string,
  version: string,
  options?: Pick<ServiceToken<T>, "summary" | "remotable" | "deprecated">,
) => ServiceToken<T> {
  return (id, version, options = {}) => ({ kind: "service", id, version, ...options });
}

/** Marks a required service as optional: the plugin starts without it. */
export function optional<T>(token: ServiceToken<T>): OptionalToken<T> {
  return { kind: "optional", token };
}

/** Marks a required service as live: the plugin gets a handle and does not restart with the provider. */
export function live<T>(token: ServiceToken<T>): LiveToken<T> {
  return { kind: "live", token };
}

/** Identifies an extension point: one owner, many contributors. */
export interface ExtensionPoint<T> {
  readonly kind: "extension-point";
  readonly id: string;
  /** What it is for, who owns it and who contributes. */
  readonly summary?: string;
  /**
   * Contributions consist of data and of functions whose promises the owner awaits, so they can come from another
   * thread or process, or from a sleeping plugin. Default false.
   */
  readonly remotable?: boolean;
  /** A warning at start names the plugins that contribute to a deprecated extension point. */
  readonly deprecated?: Deprecation;
  readonly type?: T;
}

/** Creates an extension point: `defineExtensionPoint<Tool>("tool")`. */
export function defineExtensionPoint<T>(
  id: string,
  options: Pick<ExtensionPoint<T>, "summary" | "remotable" | "deprecated"> = {},
): ExtensionPoint<T> {
  return { kind: "extension-point", id, ...options };
}

/** One contribution, as seen by the owner. */
export interface Contribution<T> {
  readonly id: string;
  /** Plugin that contributed it. */
  readonly plugin: string;
  readonly value: T;
}

/**
 * The owner's view of its extension point. Contributions become visible when their plugin is committed, in plugin
 * order.
 */
export interface ExtensionView<T> {
  list(): readonly Contribution<T>[];
  get(id: string): Contribution<T> | undefined;
  /** Runs `work`; an error is attributed to the contributor and rethrown. */
  call<R>(contribution: Contribution<T>, work: (value: T) => R): R;
}
