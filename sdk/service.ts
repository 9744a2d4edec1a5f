/** Typed service tokens: how plugins lend each other abilities without importing each other. */

import type { Deprecation } from "./deprecation.ts";

/** Names a service. The type parameter is what the provider gives and the consumer gets. */
export interface ServiceToken<T> {
  readonly kind: "service";
  readonly id: string;
  /** Semver of the service's own interface; a consumer's token must have the same major. */
  readonly version: string;
  /** All its members are data or methods that return promises, so that it can be used from another thread or process. */
  readonly remotable?: boolean;
  /** Plugins that require it are named at their start. */
  readonly deprecated?: Deprecation;
  /** Carries the type only; never set. */
  readonly type?: T;
}

/** A requirement that may be absent: the service is `undefined` then, and the plugin still starts. */
export interface OptionalToken<T> {
  readonly kind: "optional";
  readonly token: ServiceToken<T>;
}

/** A requirement that follows its provider: a handle that is asked at each use, and plays no part in the start order. */
export interface LiveToken<T> {
  readonly kind: "live";
  readonly token: ServiceToken<T>;
}

/** Handle of a live requirement. */
export interface Live<T> {
  /** The provider's value now, or `undefined` while there is none. */
  get(): T | undefined;
}

/** One entry of `requires`. */
export type Requirement = ServiceToken<unknown> | OptionalToken<unknown> | LiveToken<unknown>;
/** All that a plugin requires, by the name it will use. */
export type Requirements = Readonly<Record<string, Requirement>>;

/** What `gateway.services` holds for a plugin's `requires`. */
export type ServicesOf<R extends Requirements> = {
  readonly [K in keyof R]: R[K] extends ServiceToken<infer T>
    ? T
    : R[K] extends OptionalToken<infer T>
      ? T | undefined
      : R[K] extends LiveToken<infer T>
        ? Live<T>
        : never;
};

/** Makes a token: `defineService<Storage>()("storage", "1.0.0")`. Two calls keep the type parameter and the literals apart. */
export function defineService<T>(): (
  id: string,
  version: string,
  options?: Pick<ServiceToken<T>, "remotable" | "deprecated">,
) => ServiceToken<T> {
  return (id, version, options = {}) => ({ kind: "service", id, version, ...options });
}

/** The plugin starts without it. */
export function optional<T>(token: ServiceToken<T>): OptionalToken<T> {
  return { kind: "optional", token };
}

/** The plugin gets a handle, and does not restart when the provider does. */
export function live<T>(token: ServiceToken<T>): LiveToken<T> {
  return { kind: "live", token };
}

/** Names an extension point: one owner plugin, many contributors. */
export interface ExtensionPoint<T> {
  readonly kind: "extension-point";
  readonly id: string;
  /**
   * What is contributed to it is data, and functions whose promises the owner awaits: it can be contributed from another thread or process, and
   * by a plugin that is asleep. Default false.
   */
  readonly remotable?: boolean;
  /** Plugins that contribute to it are named at their start. */
  readonly deprecated?: Deprecation;
  readonly type?: T;
}

/** Makes an extension point: `defineExtensionPoint<Tool>("tool")`. */
export function defineExtensionPoint<T>(
  id: string,
  options: Pick<ExtensionPoint<T>, "remotable" | "deprecated"> = {},
): ExtensionPoint<T> {
  return { kind: "extension-point", id, ...options };
}

/** One contribution as its owner sees it. */
export interface Contribution<T> {
  readonly id: string;
  /** Plugin that contributed it. */
  readonly plugin: string;
  readonly value: T;
}

/** The owner's view of its extension point. Contributions appear when their plugin is committed, in plugin order. */
export interface ExtensionView<T> {
  list(): readonly Contribution<T>[];
  get(id: string): Contribution<T> | undefined;
  /** Runs `work` so that what it throws is charged to the contributor, then rethrows. */
  call<R>(contribution: Contribution<T>, work: (value: T) => R): R;
}
