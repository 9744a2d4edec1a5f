/** The plugin API: the definition of a plugin, and what the gateway passes to its `setup`. */
import type { Contract, EventSpec, Method, ParamsOf, PayloadOf, ResultOf } from "./contract.ts";
import type { Deprecation } from "./deprecation.ts";
import type { GatewayHooks } from "./hook-catalogue.ts";
import type { HookEmitter, HookFacade, HookSpec } from "./hooks.ts";
import type { ConnectionInfo } from "./host-hooks.ts";
import type { Principal, Scope } from "./principal.ts";
import { closedSchema, type DeepReadonly, type Static, type TSchema } from "./schema.ts";
import type { ExtensionPoint, ExtensionView, Requirements, ServicesOf, ServiceToken } from "./service.ts";

/** Version of this API. A plugin's `api` is a semver range that must contain it. */
export const API_VERSION = "1.0.0";

/** Deprecated members of `PluginGateway`; a warning at start names each plugin that uses one. None yet. */
export const DEPRECATED_MEMBERS: Readonly<Partial<Record<keyof PluginGateway, Deprecation>>> = {};

/** Same interface as pino: an object with fields, then the message. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Time source, replaceable in tests. */
export interface Clock {
  /** epoch ms */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  elapsed(): number;
  /** @returns a function that cancels the timer */
  setTimeout(callback: () => void, ms: number): () => void;
  /** @returns a function that cancels the timer */
  setInterval(callback: () => void, ms: number): () => void;
}

/** Context of a method call. */
export interface Call<P> {
  readonly params: P;
  readonly principal: Principal;
  /** Absent if the call did not arrive over a WebSocket. */
  readonly connection: ConnectionInfo | undefined;
  /** Aborts when the caller disconnects or the plugin stops. */
  readonly signal: AbortSignal;
  /**
   * Sends a first response under the same id; the returned value follows as the second. Has no effect outside a
   * WebSocket, or after the handler has ended.
   */
  accept(payload: unknown): void;
}

/** Implements one method: returns the result, or throws a `GatewayError`. */
export type Handler<M> = (call: Call<ParamsOf<M>>) => DeepReadonly<ResultOf<M>> | Promise<DeepReadonly<ResultOf<M>>>;

/** A handler for every method of a contract. */
export type Handlers<C extends Contract> = { readonly [K in keyof C]: Handler<C[K]> };

/** Receivers of an event. */
export interface Audience {
  /** Only these connections; the event then has no `seq`. Default: all connections that hold the event's scope. */
  readonly connections?: readonly string[];
  /** Whether a slow reader may miss this emission. Default: as declared by the event. */
  readonly droppable?: boolean;
}

/** Publishes one event. Never throws because of a receiver. */
export type Emit<E extends EventSpec> = (payload: PayloadOf<E>, audience?: Audience) => void;

/** A parsed HTTP request. */
export interface RouteRequest<B> {
  readonly method: string;
  readonly path: string;
  /** Values captured by the path pattern. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON that matches the route's `body`; `undefined` for a route without one. */
  readonly body: B;
  /** The body as received, for signatures. */
  readonly rawBody: Uint8Array;
  /** Set on routes with `auth: "gateway"`, and with `auth: "optional"` for a request with a credential. */
  readonly principal: Principal | undefined;
  readonly remoteAddress: string;
  /** Both the peer address and the `Host` header belong to this machine, as in `ConnectionInfo.local`. */
  readonly local: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Response of a route. */
export interface RouteReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as text, bytes unchanged, an async iterable as a stream. */
  readonly body?: unknown;
}

/** A WebSocket that a client opened at a route of the plugin. */
export interface PluginSocket {
  /** Sends a text. A client that leaves more than 1 MiB unread is closed with 1008. Does nothing when the socket is closed. */
  send(text: string): void;
  /** @param code default 1000 @param reason at most 123 bytes */
  close(code?: number, reason?: string): void;
}

/** What a plugin does with the events of a `PluginSocket`. */
export interface PluginSocketEvents {
  /** A text arrived; the next one waits until it resolves. A throw closes the socket with 1011. */
  message(text: string): void | Promise<void>;
  /** Called once, when the socket is closed. */
  closed?(): void;
}

/** An HTTP route. */
export interface RouteSpec<B extends TSchema = TSchema> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Path below `/plugins/<id>/`, or below a prefix listed in `package.json` under `svc.routes`. `:name` captures one
   * segment; a final `*name` captures the rest, including slashes and encoded slashes.
   */
  readonly path: string;
  /**
   * `gateway`: the gateway verifies its credential first. `plugin`: the handler verifies the request itself. `optional`:
   * the gateway verifies the credential of a request that carries one; the handler decides about the others.
   */
  readonly auth: "gateway" | "plugin" | "optional";
  /** Scope for a `gateway` or `optional` route; required there. */
  readonly scope?: Scope;
  readonly summary: string;
  /** Schema of the JSON body; a mismatch is answered with 400 naming the path. Absent: any body, unparsed. */
  readonly body?: B;
  /** Default 1 MiB; a larger body is answered with 413. */
  readonly maxBodyBytes?: number;
  /**
   * A WebSocket upgrade of this path is refused with 426 and the summary; at any other path it opens a connection of
   * the gateway. Default false.
   */
  readonly refusesUpgrade?: boolean;
  /**
   * Opens a WebSocket for an upgrade of this path, which may have `:name` segments; the route has `GET`, and `auth: "plugin"`:
   * this function verifies the request. Texts are at most `maxBodyBytes`; binary messages close the socket with 1003. The
   * sockets of a plugin are closed with 1012 when it stops. Not available to plugins in a thread of their own.
   * @throws GatewayError to refuse the upgrade, with the HTTP status of its code
   */
  upgrade?(request: RouteRequest<undefined>, socket: PluginSocket): PluginSocketEvents | Promise<PluginSocketEvents>;
  /**
   * Serves only paths that no other route serves, with any method. `path` is a fixed beginning and `/*name`; `params` is empty. A handler
   * that throws `NOT_FOUND` leaves the request to the next fallback route, and finally to the gateway's own 404. Default false.
   */
  readonly isFallback?: boolean;
  handler(request: RouteRequest<Static<B>>): RouteReply | Promise<RouteReply>;
}

/** Releases what `start` acquired. Called once; must finish within 5 seconds. */
export type Stop = () => void | Promise<void>;

/**
 * Additional configuration sections owned by a plugin, with their schemas; keys as in `Plugin.section`. The key
 * `hooks.mappings[<action>]` defines the keys of webhook mappings with this action; its value is empty.
 */
export type Sections = Readonly<Record<string, TSchema>>;

/** Values of the sections: validated, with defaults, frozen. */
export type SectionValues<X extends Sections> = { readonly [K in keyof X]: Static<X[K]> };

/** Passed to `setup`. Declarations are only allowed inside `setup`; a later one throws an error that names the rule. */
export interface PluginGateway<Config = unknown, R extends Requirements = Requirements, X extends Sections = Sections> {
  readonly id: string;
  /**
   * The plugin's own configuration section: validated, with defaults, frozen. The value does not change after `setup`.
   */
  readonly config: Config;
  /** Values of the additional sections: validated, with defaults, frozen. */
  readonly sections: SectionValues<X>;
  /** The services listed in `requires`. Use them from `start` on, when their providers have started. */
  readonly services: ServicesOf<R>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Private directory of this plugin, mode 0700; created on first access to this property. */
  readonly stateDir: string;
  /** Aborts when the plugin stops, also for a reload. */
  readonly signal: AbortSignal;

  /** Implements every method of a contract. */
  serve<C extends Contract>(contract: C, handlers: Handlers<C>): void;
  /** Declares an event. @returns its emitter */
  event<E extends EventSpec>(event: E): Emit<E>;
  /**
   * Sends a copy of an event already published by another plugin or the gateway to named connections, in addition to
   * the regular delivery. The copy has no `seq` and no `stateVersion` and does not reach handlers of `eventPublished`.
   * The scope of the event applies.
   */
  forward<E extends EventSpec>(event: E, payload: PayloadOf<E>, connections: readonly string[]): void;
  route<B extends TSchema>(route: RouteSpec<B>): void;
  /** Provides a service to other plugins; it must be listed in `provides`. */
  provide<T>(token: ServiceToken<T>, value: T): void;
  /** Contributes to an extension point; has no effect until the owner is active. */
  extend<T>(point: ExtensionPoint<T>, id: string, value: T): void;
  /** Takes ownership of an extension point. Each point has exactly one owner. */
  own<T>(point: ExtensionPoint<T>): ExtensionView<T>;
  /** The hook catalog, for tapping. */
  readonly hooks: GatewayHooks;
  /** A hook declared by another plugin, for tapping. */
  hook<H extends HookSpec>(hook: H): HookFacade<H>;
  /** The emitter of a hook; `hook.owner` must be this plugin. */
  emits<H extends HookSpec>(hook: H): HookEmitter<H>;
  /** Acquires resources, after everything this plugin requires has started. The returned function releases them. */
  start(begin: () => void | Stop | Promise<void | Stop>): void;
  /**
   * Releases resources acquired on use instead of in `start`; runs after the stop functions of all starts. A plugin
   * with a `start` is imported when the gateway starts.
   */
  onStop(release: Stop): void;

  /**
   * Handles changes of keys marked `reload: "hot"` in the schema. Without a handler, and for all other keys, the plugin
   * is reloaded. A throw is recorded and the plugin is reloaded.
   */
  configChanged(handler: (config: Config, sections: SectionValues<X>) => void | Promise<void>): void;

  /** Reports whether work is under way that a planned restart should wait for, e.g. a run. A throw counts as busy. */
  busy(check: () => boolean): void;

  /** Runs `work` every `ms` milliseconds between start and stop; a throw is recorded. */
  every(ms: number, work: () => void | Promise<void>): void;
  /** Runs `work` once after `ms` milliseconds (counted from start if called in `setup`); a throw is recorded. */
  after(ms: number, work: () => void | Promise<void>): void;
  /**
   * Calls a method of this gateway as this plugin, with the scopes its package lists under `svc.permissions.calls`.
   * With `principal`, calls on behalf of a principal that the gateway passed to this plugin; any other object has no
   * more rights than the plugin. Available from `start` on.
   * @throws GatewayError as thrown by the method
   */
  call<M extends Method>(method: M, params: ParamsOf<M>, options?: { principal?: Principal }): Promise<ResultOf<M>>;
  /**
   * Stops this plugin and those that require it, and starts them again. Does not count as a failure. Available from
   * `start` on; has no effect once the plugin stops. @param reason for people, shown until the plugin runs again
   */
  restart(reason: string): void;
}

/** A configuration value that is valid but does not work as intended. */
export interface ConfigWarning {
  /** Dotted: `agents.list[0].model`. */
  readonly path: string;
  /** Includes what to do about it. */
  readonly message: string;
  /** Whatever uses the key fails, so `svc doctor` reports an error. Default false. */
  readonly breaks?: boolean;
}

/** A complete configuration, and what is known about the plugins in use without running them. */
export interface ConfigView {
  /** An object that matches the schemas of all plugins in use, with their defaults. */
  readonly config: unknown;
  /**
   * Contributions of the plugins in use to an extension point; `value` is the data without functions, and absent if the
   * plugin was not built. `undefined` if a plugin in use is a single file, whose contributions are unknown before it
   * runs.
   */
  contributions(point: Pick<ExtensionPoint<unknown>, "id">): readonly { id: string; value?: unknown }[] | undefined;
}

/** Definition of a plugin. */
export interface Plugin<
  S extends TSchema = TSchema,
  R extends Requirements = Requirements,
  X extends Sections = Sections,
> {
  /** `^[a-z][a-z0-9-]{1,63}$` */
  readonly id: string;
  /** Semver range of `API_VERSION`; checked before the import (package.json) and again after it. */
  readonly api: string;
  /** Default: the version in package.json, else `0.0.0`. */
  readonly version?: string;
  /**
   * Schema of the plugin's configuration section. Unknown keys are rejected by name unless the schema permits them
   * (`additionalProperties`). Additional keywords: `reload: "hot"` (see `configChanged`), `sensitive: true` (hidden
   * from readers), and for forms `title`, `description`, `group`, `order`, `advanced`, `placeholder`.
   */
  readonly config?: S;
  /**
   * Key of that section: a top-level key, a key below a gateway section that is open to plugins (`hooks.mail`), or a
   * key below a name that several plugins share (`chats.mail`). A nested key holds an object. Default: the id.
   */
  readonly section?: string;
  /** Further sections of this kind. Each key has one owner. */
  readonly sections?: X;
  readonly requires?: R;
  readonly provides?: readonly ServiceToken<unknown>[];
  /** Ids of plugins that are ordered before this one if present; not a requirement. */
  readonly after?: readonly string[];
  /**
   * Reports problems of a configuration whose keys are all valid. Pure. Called by `svc config validate`, `svc config
   * set` and `svc doctor`, never by a gateway: it keeps no plugin awake and prevents no start.
   */
  configWarnings?(view: ConfigView): readonly ConfigWarning[];
  /**
   * Declares everything the plugin does; must not open any resource. May throw `notReady`, `authRequired` or
   * `misconfigured`.
   */
  setup(gateway: PluginGateway<Static<S>, R, X>): void | Promise<void>;
}

/** Marks plugins, so that two copies of the SDK recognize each other's plugins. */
export const PLUGIN = Symbol.for("svc.plugin/1");

/** Declares a plugin; default export of its entry file. */
export function definePlugin<S extends TSchema, R extends Requirements = {}, X extends Sections = {}>(
  plugin: Plugin<S, R, X>,
): Plugin {
  const config = plugin.config && { config: closedSchema(plugin.config) };
  const sections = plugin.sections && {
    sections: Object.fromEntries(Object.entries(plugin.sections).map(([key, schema]) => [key, closedSchema(schema)])),
  };
  return Object.assign({ ...plugin, ...config, ...sections }, { [PLUGIN]: true }) as unknown as Plugin; // the kernel stores plugins of all types in one list
}

/** Whether `value` was created by `definePlugin`. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === "object" && value !== null && PLUGIN in value;
}
