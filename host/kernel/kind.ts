/**
 * The contract of the kernel: the type of a kind of declaration, and the plugin lifecycle hooks that kinds tap.
 *
 * Methods, routes, taps and everything else a plugin may declare are kinds. Each kind is one value in one file of `kinds/`. It defines the
 * members of `gateway` that declare it, the serializable shape, what package.json must list, conflicts, how an entry takes effect, and how it
 * is served from another thread or process. A new kind is one such file and one entry in `kinds/index.ts`.
 */
import {
  type Audience,
  type Clock,
  type Deprecation,
  type EventSpec,
  type ExtensionPoint,
  type ExtensionView,
  type HookEmitter,
  type HookSpec,
  type Plugin,
  type PluginGateway,
  type Stop,
  type TSchema,
  withDefaults,
} from "@svc/sdk";
import type { AsyncSeriesBailHook, AsyncSeriesHook, SyncBailHook, SyncHook } from "tapable";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Owner } from "../hooks/owner.ts";
import type { PluginSource } from "./load.ts";
import type { Manifest } from "./manifest.ts";
import type { PluginState } from "./state.ts";
import type { Table } from "./table.ts";

/** The serializable description of one declaration. Kinds with `isUnique` allow each `name` once, over all plugins. */
export interface Shape {
  readonly name: string;
  readonly [fact: string]: unknown;
}

/** A declaration in effect, with its owner. */
export interface Owned {
  readonly owner: Owner;
}

/** The static part of a plugin, known wherever its code runs. */
export type PluginFacts = Omit<Plugin, "setup" | "configWarnings">;

/** The values of a plugin's own section and of its further sections. */
export interface PluginConfig {
  readonly value: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
}

/** The default configuration of a plugin. */
export function defaultsOf({ config, sections = {} }: PluginFacts): PluginConfig {
  const filled = (schema: TSchema): unknown => withDefaults(schema, withDefaults(schema, undefined) ?? {});
  return {
    value: config ? filled(config) : {},
    sections: Object.fromEntries(Object.entries(sections).map(([key, schema]) => [key, filled(schema)])),
  };
}

/** A problem of a plugin and the next step. A warning does not prevent its use. */
export interface Problem {
  readonly level: "failed" | "warning";
  readonly why: string;
  readonly next: string;
}

/** A kind of declaration. `Entry` is a declaration recorded in `setup`, `Live` one in effect. */
export interface Kind<Entry = unknown, Live extends Owned = Entry & Owned> {
  /** Plural; the key in reports. */
  readonly name: string;
  /** Singular, for messages: `<noun> <name> is already declared by ...`. */
  readonly noun: string;
  /** Schema of its shapes. */
  readonly shape: TSchema;

  describe(entry: Entry): Shape;
  /** Shapes known without a setup: from the static part of the code, the package and the running plugins. */
  known?(described: Described, live: LiveTables): readonly Shape[];
  /**
   * Members of `gateway` that declare an entry; the same in every carrier. `record` throws outside `setup`, and in a thread or process if
   * `refuse` rejects the entry.
   */
  members?(record: (entry: Entry) => void, context: SetupContext): object;

  /** How package.json lists entries of this kind. */
  readonly listing?: Listing;
  /** If set, two entries with the same name conflict, and the entries in effect are kept in a table. */
  readonly isUnique?: true;
  /** Turns an entry into its table row. Default: the entry with its owner. */
  live?(entry: Entry, owner: Owner): Live;
  /** Why these entries of one plugin conflict with what is in effect, naming both sides; or `undefined`. */
  conflict?(entries: readonly Entry[], staged: Staged): string | undefined;
  /** Puts an entry into effect in addition to its table row, in one synchronous step. @returns the undo function */
  commit?(entry: Entry, staged: Staged): () => void;
  /** Why an entry in effect has no effect now, or `undefined`. */
  inert?(entry: Entry, live: LiveTables): string | undefined;

  /** Why an entry cannot be declared from another thread or process, or `undefined`. */
  refuse?(entry: Entry): string | undefined;
  /** Converts an entry recorded in another thread or process; its functions return promises. Default: unchanged. */
  adopt?(entry: Entry, remote: Remote): Entry;

  /** Why a plugin with this entry cannot be asleep, or `undefined`. */
  wakes?(entry: Entry): string | undefined;
  /** The part of an entry in effect while its plugin is asleep; `undefined`: nothing. Default: the whole entry, whose functions wake the plugin. */
  asleep?(entry: Entry): Entry | undefined;

  /** The part of the plugin API that an entry uses, and its deprecation, if any. */
  deprecation?(entry: Entry): readonly [what: string, mark: Deprecation | undefined];
  /** Problems that `svc plugins check` reports for an entry. */
  problems?(entry: Entry): readonly Problem[];
  /** Adds further taps on the plugin lifecycle. */
  tap?(hooks: KernelHooks): void;
}

/** Any kind, as an element of a list. */
export type AnyKind = Kind<unknown, Owned>;

/** Infers the types of a kind; returns it unchanged. */
export function defineKind<Entry, Live extends Owned = Entry & Owned>(kind: Kind<Entry, Live>): Kind<Entry, Live> {
  return kind;
}

/** How package.json lists the declarations of a kind. */
export interface Listing {
  /** Key below `svc`. */
  readonly key: keyof Manifest;
  /** The listed values. */
  read(manifest: Manifest): readonly string[];
  /** The value that must be listed for a shape; `undefined`: none. */
  value(shape: Shape, pluginId: string): string | undefined;
  /** Whether a listed value covers the name of a shape. Default: if they are equal. */
  covers?(listed: string, name: string): boolean;
  /** The JSON under `key` for these values, at least one; `undefined`: the key is omitted. Default: the values. */
  written?(values: readonly string[], pluginId: string): unknown;
  /** An alternative to listing it, for messages. */
  instead?(pluginId: string): string;
  /** When a plugin that declares something unlisted is refused; `packaged`: only if it has a package. `svc plugins check` always reports it. */
  readonly refused: "always" | "packaged" | "never";
}

/** The declarations of one setup, in order, by kind. */
export interface Declared {
  of<Entry, Live extends Owned>(kind: Kind<Entry, Live>): readonly Entry[];
  shapes(kind: AnyKind): readonly Shape[];
  /** The entry with this name. @param kind name of the kind */
  entry(kind: string, name: string): unknown;
  /** Deprecated parts of the plugin API the plugin uses, by name. */
  readonly deprecated: ReadonlyMap<string, Deprecation>;
}

/** What is known of a plugin; each part may be missing while it does not run. */
export interface Described {
  readonly plugin: PluginFacts | undefined;
  readonly manifest: Manifest | undefined;
  readonly declared: Declared | undefined;
}

/** The result of a setup, and what it is checked against. */
export interface Staged {
  readonly plugin: PluginFacts;
  readonly manifest: Manifest | undefined;
  readonly owner: Owner;
  readonly declared: Declared;
  readonly live: LiveTables;
  readonly bus: HookBus;
}

/** The declarations in effect, of plugins and of the host. */
export interface LiveTables {
  /** @throws Error the kind has no table */
  table<Entry, Live extends Owned>(kind: Kind<Entry, Live>): Table<Live>;
}

/** What a carrier provides to the members of `gateway`. */
export interface SetupContext {
  readonly plugin: PluginFacts;
  readonly clock: Clock;
  /** Aborts when this generation stops. */
  readonly signal: AbortSignal;
  /** Whether `setup` is still running, so that declarations are allowed. */
  isOpen(): boolean;
  /** Runs `work` attributed to the plugin. */
  run<T>(work: () => T): T;
  /** Counts and logs a failure that no caller receives. */
  failed(error: unknown, where: string): void;
  /** Stops the plugin and starts it again. */
  restart(reason: string): void;
  publish(event: EventSpec, payload: unknown, audience: Audience | undefined): void;
  /** Sends a copy of a published event: it does not raise the state version and emits no hook. */
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  emitter(hook: HookSpec): HookEmitter<HookSpec>;
  view(point: ExtensionPoint<unknown>): ExtensionView<unknown>;
}

/** State of a plugin's thread or process, as entries need it. */
export interface Remote {
  /** Its busy flag in the last liveness report. */
  isBusy(): boolean;
  /** Its thread or process has ended. */
  isOver(): boolean;
}

/** What the host provides to one setup: the `gateway`, and the functions its carrier needs. */
export interface Staging {
  readonly gateway: PluginGateway;
  /** Declares an entry recorded in another thread or process. @param kind name of the kind */
  adopt(kind: string, entry: unknown, remote: Remote): void;
  /** Publishes an event that this generation declared; ignores any other event. */
  publish(event: string, payload: unknown, audience: Audience | undefined): void;
  run<T>(work: () => T): T;
  failed(error: unknown, where: string): void;
  /** Reports that the thread or process has ended: the plugin is taken down and retried later. Ignored for a generation that has already stopped. */
  died(error: Error): void;
  /** Sets the function that reads the plugin's memory use in bytes. */
  measure(read: () => number | undefined): void;
}

/** A plugin's code, in whichever thread or process: its static part and the setup of a generation. */
export interface Carried {
  readonly plugin: PluginFacts;
  /** The schemas of its configuration lack checks until `load` has imported the code. */
  readonly lacksChecks?: boolean;
  /** Imports the code; called before `setup`. Absent: the code is already imported. @throws Error it cannot be imported */
  load?(): Promise<void>;
  setup(staging: Staging): void | Promise<void>;
  /**
   * Declares the plugin's written entries without importing its code. Absent: the plugin cannot be asleep.
   * @param wake resolves when the plugin is awake. @throws GatewayError `UNAVAILABLE` it did not wake
   */
  sleep?(staging: Staging, wake: () => Promise<Declared>): void;
  /** How the written entries differ from `declared`, as a message; `undefined`: they do not. */
  stale?(declared: Declared): string | undefined;
}

export interface StateChange {
  readonly id: string;
  readonly from: PluginState;
  readonly to: PluginState;
  readonly reason: string | undefined;
}

/**
 * Lifecycle hooks, in the order a plugin passes them. Kinds and carriers tap them; a tap must not throw unless its hook allows it.
 */
export interface KernelHooks {
  /** Resolves a source to its code. The first result wins; the last tap imports the code into this thread. A rejection fails the plugin. */
  readonly resolve: AsyncSeriesBailHook<[PluginSource], Carried>;
  /** Describes a plugin: each kind adds its shapes under its name. */
  readonly describe: SyncHook<[Described, Record<string, readonly Shape[]>]>;
  /** Why a generation cannot take effect: the first returned message wins. Called after `setup` and again right before `commit`. */
  readonly conflict: SyncBailHook<[Staged], string>;
  /** Makes a generation visible, in one synchronous step. Taps add their undo functions; if a tap throws, all of them run. */
  readonly commit: SyncHook<[Staged, (() => void)[]]>;
  /** Acquires the resources of a generation. `begin` awaits `work` and stores the stop function it returns. A rejection fails the start. */
  readonly started: AsyncSeriesHook<[Staged, (work: Begin) => Promise<void>]>;
  /** Called before a generation releases its resources. */
  readonly draining: SyncHook<[Staged]>;
  /** Called after a generation has released its resources; its declarations may still be in effect. */
  readonly stopped: SyncHook<[Staged]>;
  readonly state: SyncHook<[StateChange]>;
}

/** Acquires a resource; returns the function that releases it, if any. */
export type Begin = () => void | Stop | Promise<void | Stop>;
