/** The plugin API: what a plugin is and what the gateway hands to its `setup`. */
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

/** Members of `PluginGateway` that will go away; whoever calls one is named at its start. None yet. */
export const DEPRECATED_MEMBERS: Readonly<Partial<Record<keyof PluginGateway, Deprecation>>> = {};

/** Same shape as pino's: an object of fields first, then the sentence. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Time, so that tests can hold it. */
export interface Clock {
  /** epoch ms */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  elapsed(): number;
  /** @returns cancels it. */
  setTimeout(callback: () => void, ms: number): () => void;
  /** @returns cancels it. */
  setInterval(callback: () => void, ms: number): () => void;
}

/** What a method handler gets. */
export interface Call<P> {
  readonly params: P;
  readonly principal: Principal;
  /** Absent when the call did not come over a WebSocket. */
  readonly connection: ConnectionInfo | undefined;
  /** Aborts when the caller is gone or the plugin stops. */
  readonly signal: AbortSignal;
  /** Sends a first response under the same id; the returned value follows as the second. Does nothing outside a WebSocket. */
  accept(payload: unknown): void;
}

/** Answers one method: returns the result, or throws a `GatewayError` to refuse. */
export type Handler<M> = (call: Call<ParamsOf<M>>) => DeepReadonly<ResultOf<M>> | Promise<DeepReadonly<ResultOf<M>>>;

/** A handler for every method of a contract. */
export type Handlers<C extends Contract> = { readonly [K in keyof C]: Handler<C[K]> };

/** Who receives an event. */
export interface Audience {
  /** Only these connections; such events carry no `seq`. Default: all that hold the event's scope. */
  readonly connections?: readonly string[];
  /** This one emission may be missed by a slow reader. Default: what the event declares. */
  readonly droppable?: boolean;
}

/** Sends one event. Never throws because of a receiver. */
export type Emit<E extends EventSpec> = (payload: PayloadOf<E>, audience?: Audience) => void;

/** A parsed HTTP request. */
export interface RouteRequest<B> {
  readonly method: string;
  readonly path: string;
  /** Captures of the path pattern. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON that matches the route's `body`, or `undefined` for a route without one. */
  readonly body: B;
  /** The body as it came, for signatures. */
  readonly rawBody: Uint8Array;
  /** Set on routes with `auth: "gateway"`. */
  readonly principal: Principal | undefined;
  readonly remoteAddress: string;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/** What a route answers. */
export interface RouteReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as text, bytes as they are, an async iterable as a stream. */
  readonly body?: unknown;
}

/** An HTTP route. */
export interface RouteSpec<B extends TSchema = TSchema> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Below `/plugins/<id>/`, or below a prefix that `package.json` lists under `svc.routes`. `:name` captures; `*name` at the
   * end all that is left, slashes and encoded slashes included.
   */
  readonly path: string;
  /** `gateway`: the gateway's credential is verified first. `plugin`: the handler verifies the request itself. */
  readonly auth: "gateway" | "plugin";
  /** Scope a `gateway` route needs; required there. */
  readonly scope?: Scope;
  readonly summary: string;
  /** JSON the body must match; 400 names the path otherwise. Absent: any body, unparsed. */
  readonly body?: B;
  /** Default 1 MiB; larger gives 413. */
  readonly maxBodyBytes?: number;
  handler(request: RouteRequest<Static<B>>): RouteReply | Promise<RouteReply>;
}

/** Stops what a `start` began. Called once, within 5 seconds. */
export type Stop = () => void | Promise<void>;

/**
 * Further sections of the configuration that a plugin owns, each with its schema; keys as in `Plugin.section`. The key
 * `hooks.mappings[<action>]` says which keys mappings of webhooks with this action have; its value is empty.
 */
export type Sections = Readonly<Record<string, TSchema>>;

/** Their values, validated, defaults filled in, frozen. */
export type SectionValues<X extends Sections> = { readonly [K in keyof X]: Static<X[K]> };

/** What `setup` gets. Declarations may only be made inside `setup`; a later one throws and names the rule. */
export interface PluginGateway<Config = unknown, R extends Requirements = Requirements, X extends Sections = Sections> {
  readonly id: string;
  /** The plugin's own section, validated, defaults filled in, frozen: as it was when this generation was set up. */
  readonly config: Config;
  /** The same for its further sections. */
  readonly sections: SectionValues<X>;
  /** What `requires` asked for. Use them from `start` on: their providers have started then. */
  readonly services: ServicesOf<R>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Private directory of this plugin, mode 0700; made on first use of this property. */
  readonly stateDir: string;
  /** Aborts when this generation of the plugin stops. */
  readonly signal: AbortSignal;

  /** Answers every method of a contract. */
  serve<C extends Contract>(contract: C, handlers: Handlers<C>): void;
  /** Declares an event. @returns its emitter. */
  event<E extends EventSpec>(event: E): Emit<E>;
  /**
   * Sends a copy of an event that another plugin or the gateway has published to named connections, beside the one they
   * get anyway: without `seq` and `stateVersion`, and not seen by taps of `eventPublished`. Its scope holds.
   */
  forward<E extends EventSpec>(event: E, payload: PayloadOf<E>, connections: readonly string[]): void;
  route<B extends TSchema>(route: RouteSpec<B>): void;
  /** Gives a service to others; must be listed in `provides`. */
  provide<T>(token: ServiceToken<T>, value: T): void;
  /** Contributes to an extension point; inert until the owner is there. */
  extend<T>(point: ExtensionPoint<T>, id: string, value: T): void;
  /** Owns an extension point. Only one plugin can. */
  own<T>(point: ExtensionPoint<T>): ExtensionView<T>;
  /** The catalogue, to tap. */
  readonly hooks: GatewayHooks;
  /** A hook that another plugin declares, to tap. */
  hook<H extends HookSpec>(hook: H): HookFacade<H>;
  /** The owner's side of a hook; `hook.owner` must be this plugin. */
  emits<H extends HookSpec>(hook: H): HookEmitter<H>;
  /** Acquires resources, after everything this plugin requires has started. What it returns releases them. */
  start(begin: () => void | Stop | Promise<void | Stop>): void;
  /** Releases what was acquired by use rather than by a start, after the stops of all starts. A plugin with a start is imported when the gateway starts. */
  onStop(release: Stop): void;

  /**
   * Takes changes of keys that the schema marks `reload: "hot"`; without it, and for all other keys, the plugin is
   * reloaded. A throw is recorded and the plugin is reloaded instead.
   */
  configChanged(handler: (config: Config, sections: SectionValues<X>) => void | Promise<void>): void;

  /** Says whether it has work under way that a planned restart should wait for, e.g. a run. A throw counts as yes. */
  busy(check: () => boolean): void;

  /** Runs `work` every `ms` milliseconds from start until stop; a throw is recorded. */
  every(ms: number, work: () => void | Promise<void>): void;
  /** Runs `work` once, `ms` milliseconds after now (or after start, when called in `setup`); a throw is recorded. */
  after(ms: number, work: () => void | Promise<void>): void;
  /**
   * Calls a method of this gateway as this plugin: with the scopes its package lists under
   * `svc.permissions.calls`, or as `principal`: one that was handed to this plugin by the gateway; any other object may
   * do no more than the plugin itself. From start on. @throws GatewayError what the method refuses with
   */
  call<M extends Method>(method: M, params: ParamsOf<M>, options?: { principal?: Principal }): Promise<ResultOf<M>>;
}

/** Something in a configuration that is valid and does not do what it says. */
export interface ConfigWarning {
  /** Dotted: `agents.list[0].model`. */
  readonly path: string;
  /** With what to do about it. */
  readonly message: string;
  /** What uses the key fails: `svc doctor` calls it an error. Default false. */
  readonly breaks?: boolean;
}

/** A whole configuration, and what is known of the plugins in use without running any. */
export interface ConfigView {
  /** An object that matches the schemas of all plugins in use, their defaults filled in. */
  readonly config: unknown;
  /**
   * What plugins in use contribute to an extension point; `value` is its data, without functions, and absent where the plugin was not built.
   * `undefined`: a plugin in use is a single file, of which nothing is known before it runs.
   */
  contributions(point: Pick<ExtensionPoint<unknown>, "id">): readonly { id: string; value?: unknown }[] | undefined;
}

/** A plugin. */
export interface Plugin<
  S extends TSchema = TSchema,
  R extends Requirements = Requirements,
  X extends Sections = Sections,
> {
  /** `^[a-z][a-z0-9-]{1,63}$` */
  readonly id: string;
  /** Semver range of `API_VERSION`; checked before import (package.json) and again here. */
  readonly api: string;
  /** Default: the version in package.json, else `0.0.0`. */
  readonly version?: string;
  /**
   * Schema of its configuration section. Unknown keys are refused by name unless it says otherwise (`additionalProperties`).
   * Keywords beside JSON Schema: `reload: "hot"` (see `configChanged`), `sensitive: true` (hidden from readers), and for
   * forms `title`, `description`, `group`, `order`, `advanced`, `placeholder`.
   */
  readonly config?: S;
  /**
   * Key of that section: one at the top, one below a section of the gateway that is open for plugins (`hooks.mail`), or one
   * below a key that several plugins share and none owns as a whole (`chats.mail`). A key below another holds an object.
   * Default: the id.
   */
  readonly section?: string;
  /** Further keys of that kind it owns. A key has one owner. */
  readonly sections?: X;
  readonly requires?: R;
  readonly provides?: readonly ServiceToken<unknown>[];
  /** Plugin ids that go first in order when present; not a requirement. */
  readonly after?: readonly string[];
  /**
   * What is wrong with a whole configuration although each of its keys is valid. Pure. `svc config validate`, `svc config set` and `svc doctor`
   * call it; a gateway never does, so it keeps no plugin awake and refuses no start.
   */
  configWarnings?(view: ConfigView): readonly ConfigWarning[];
  /** Declares; must not open anything. May throw `notReady`, `authRequired`, `misconfigured`. */
  setup(gateway: PluginGateway<Static<S>, R, X>): void | Promise<void>;
}

/** Marks a plugin so that two copies of this SDK agree on what one is. */
export const PLUGIN = Symbol.for("svc.plugin/1");

/** Declares a plugin; the default export of its entry file. */
export function definePlugin<S extends TSchema, R extends Requirements = {}, X extends Sections = {}>(
  plugin: Plugin<S, R, X>,
): Plugin {
  const config = plugin.config && { config: closedSchema(plugin.config) };
  const sections = plugin.sections && {
    sections: Object.fromEntries(Object.entries(plugin.sections).map(([key, schema]) => [key, closedSchema(schema)])),
  };
  return Object.assign({ ...plugin, ...config, ...sections }, { [PLUGIN]: true }) as unknown as Plugin; // the kernel keeps plugins of all types in one list
}

/** Whether `value` came from `definePlugin`. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === "object" && value !== null && PLUGIN in value;
}
