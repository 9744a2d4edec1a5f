/**
 * The contract of the kernel: what a kind of declaration is, and the hooks of a plugin's life that kinds tap.
 *
 * Methods, routes, taps and all else a plugin may declare are kinds. Each is one value in one file of `kinds/`, which says what `gateway`
 * offers for it in `setup`, what of it can be written down, what package.json must list, what conflicts with it, how it takes effect and how
 * it is served from another thread or process. A new kind is one such file; nothing else lists kinds by hand.
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

/** What of one declaration can be written down. `name` tells it apart from the others of its kind, over all plugins. */
export interface Shape {
  readonly name: string;
  readonly [fact: string]: unknown;
}

/** A declaration that is in effect, and who answers for it. */
export interface Owned {
  readonly owner: Owner;
}

/** A plugin without its code: what is known of it wherever it runs. */
export type PluginFacts = Omit<Plugin, "setup" | "configWarnings">;

/** A plugin's own section and its further ones. */
export interface PluginConfig {
  readonly value: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
}

/** The configuration of a plugin nobody configured. */
export function defaultsOf({ config, sections = {} }: PluginFacts): PluginConfig {
  const filled = (schema: TSchema): unknown => withDefaults(schema, withDefaults(schema, undefined) ?? {});
  return {
    value: config ? filled(config) : {},
    sections: Object.fromEntries(Object.entries(sections).map(([key, schema]) => [key, filled(schema)])),
  };
}

/** Something wrong with a plugin, and what to do about it. A warning does not keep it from being used. */
export interface Problem {
  readonly level: "failed" | "warning";
  readonly why: string;
  readonly next: string;
}

/** A kind of declaration. `Entry` is one as `setup` made it, `Live` one in effect. */
export interface Kind<Entry = unknown, Live extends Owned = Entry & Owned> {
  /** Plural; the key in reports. */
  readonly name: string;
  /** Singular, for sentences: `<noun> <name> is already declared by ...`. */
  readonly noun: string;
  /** Schema of its shapes. */
  readonly shape: TSchema;

  describe(entry: Entry): Shape;
  /** Shapes that are known without a setup: from the static part of the code, the package, and what runs now. */
  known?(described: Described, live: LiveTables): readonly Shape[];
  /** Members of `gateway` that declare it; the same in every carrier. `record` throws outside `setup`, and where the kind is refused. */
  members?(record: (entry: Entry) => void, context: SetupContext): object;

  /** Part of package.json that must agree with it. */
  readonly listing?: Listing;
  /** Set: two entries of one name conflict, and those in effect stand in a table. */
  readonly isUnique?: true;
  /** An entry as its table holds it. Default: with its owner added. */
  live?(entry: Entry, owner: Owner): Live;
  /** Why these entries of one plugin cannot take effect beside what is, or `undefined`. Names both sides. */
  conflict?(entries: readonly Entry[], staged: Staged): string | undefined;
  /** Takes effect beyond the table, in one synchronous step. @returns takes it back */
  commit?(entry: Entry, staged: Staged): () => void;
  /** Why an entry in effect does nothing now, or `undefined`. */
  inert?(entry: Entry, live: LiveTables): string | undefined;

  /** Why it cannot be declared from another thread or process, or `undefined`. */
  refuse?(entry: Entry): string | undefined;
  /** An entry that was declared elsewhere, as it is declared here. Its functions return promises. Default: as it is. */
  adopt?(entry: Entry, remote: Remote): Entry;

  /** Why a plugin with this entry cannot be asleep, or `undefined`. */
  wakes?(entry: Entry): string | undefined;
  /** What of an entry is in effect while its plugin is asleep; `undefined`: nothing of it. Default: all, functions wake the plugin. */
  asleep?(entry: Entry): Entry | undefined;

  /** The mark of a part of the plugin API that will go away, and what that part is called. */
  deprecation?(entry: Entry): readonly [what: string, mark: Deprecation | undefined];
  /** What `svc plugins check` finds wrong with an entry. */
  problems?(entry: Entry): readonly Problem[];
  /** Further taps on the life of plugins. */
  tap?(hooks: KernelHooks): void;
}

/** A kind in a list of kinds. */
export type AnyKind = Kind<unknown, Owned>;

/** Types a kind, and keeps it as it is. */
export function defineKind<Entry, Live extends Owned = Entry & Owned>(kind: Kind<Entry, Live>): Kind<Entry, Live> {
  return kind;
}

/** How package.json lists what a kind declares. */
export interface Listing {
  /** Key below `svc`. */
  readonly key: keyof Manifest;
  /** What is listed now. */
  read(manifest: Manifest): readonly string[];
  /** What has to be listed for a shape; `undefined`: nothing. */
  value(shape: Shape, pluginId: string): string | undefined;
  /** Whether a listed value stands for the name of a shape. Default: it equals it. */
  covers?(listed: string, name: string): boolean;
  /** What stands under `key` for these values, of which there is at least one; `undefined`: nothing. Default: the values. */
  written?(values: readonly string[], pluginId: string): unknown;
  /** What may be done instead of listing it. */
  instead?(pluginId: string): string;
  /** When a plugin whose package does not list what it declares is refused. `check` tells of it in any case. */
  readonly refused: "always" | "packaged" | "never";
}

/** What one setup declared, in order, by kind. */
export interface Declared {
  of<Entry, Live extends Owned>(kind: Kind<Entry, Live>): readonly Entry[];
  shapes(kind: AnyKind): readonly Shape[];
  /** The entry of this name. @param kind name of the kind */
  entry(kind: string, name: string): unknown;
  /** Parts of the plugin API it uses that will go away, by what they are called. */
  readonly deprecated: ReadonlyMap<string, Deprecation>;
}

/** A plugin as far as it is known: each part may be missing of one that does not run. */
export interface Described {
  readonly plugin: PluginFacts | undefined;
  readonly manifest: Manifest | undefined;
  readonly declared: Declared | undefined;
}

/** A generation that was set up. */
export interface Staged {
  readonly plugin: PluginFacts;
  readonly manifest: Manifest | undefined;
  readonly owner: Owner;
  readonly declared: Declared;
  readonly live: LiveTables;
  readonly bus: HookBus;
}

/** What running plugins have declared, and the host itself. */
export interface LiveTables {
  /** @throws Error the kind has no table */
  table<Entry, Live extends Owned>(kind: Kind<Entry, Live>): Table<Live>;
}

/** What a carrier lends to the members of `gateway`. */
export interface SetupContext {
  readonly plugin: PluginFacts;
  readonly clock: Clock;
  /** Aborts when this generation stops. */
  readonly signal: AbortSignal;
  /** Whether declarations are still allowed. */
  isOpen(): boolean;
  /** Runs `work` as the plugin. */
  run<T>(work: () => T): T;
  /** Counts and logs a failure that no caller gets. */
  failed(error: unknown, where: string): void;
  publish(event: EventSpec, payload: unknown, audience: Audience | undefined): void;
  /** Sends a copy of an event that was published: it raises no version and fires no hook. */
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  emitter(hook: HookSpec): HookEmitter<HookSpec>;
  view(point: ExtensionPoint<unknown>): ExtensionView<unknown>;
}

/** The side of a plugin that runs elsewhere, as far as entries need it. */
export interface Remote {
  /** What it last said of its work under way. */
  isBusy(): boolean;
  /** Its thread or process has ended. */
  isOver(): boolean;
}

/** What one setup runs with, beside its `gateway`. */
export interface Staging {
  readonly gateway: PluginGateway;
  /** Declares what was recorded elsewhere. @param kind name of the kind */
  adopt(kind: string, entry: unknown, remote: Remote): void;
  /** Sends an event this generation has declared; does nothing with another one. */
  publish(event: string, payload: unknown, audience: Audience | undefined): void;
  run<T>(work: () => T): T;
  failed(error: unknown, where: string): void;
  /** It is gone: takes it down and tries it again later. Ignored for a generation that has already stopped. */
  died(error: Error): void;
  /** How to find out how many bytes of memory it uses. */
  measure(read: () => number | undefined): void;
}

/** A plugin's code, wherever it is: its static part, and what sets a generation of it up. */
export interface Carried {
  readonly plugin: PluginFacts;
  /** The schemas of its configuration lack checks until `load` has imported the code. */
  readonly lacksChecks?: boolean;
  /** Imports the code, which `setup` needs. Absent: it is imported already. @throws Error it cannot be imported */
  load?(): Promise<void>;
  setup(staging: Staging): void | Promise<void>;
  /**
   * Declares what is written down of the plugin, without its code. Absent: the plugin cannot be asleep.
   * @param wake resolves when the plugin is awake. @throws GatewayError `UNAVAILABLE` it did not wake
   */
  sleep?(staging: Staging, wake: () => Promise<Declared>): void;
  /** Where that differs from what its code declares, for people; `undefined`: nowhere. */
  stale?(declared: Declared): string | undefined;
}

export interface StateChange {
  readonly id: string;
  readonly from: PluginState;
  readonly to: PluginState;
  readonly reason: string | undefined;
}

/**
 * The life of plugins, in the order of a plugin's life. Kinds and carriers tap it; taps must not throw except where it says so.
 */
export interface KernelHooks {
  /** Gets a source's code. The first answer counts; the last tap imports it into this thread. A rejection fails the plugin. */
  readonly resolve: AsyncSeriesBailHook<[PluginSource], Carried>;
  /** Writes down what is known of a plugin: each kind adds its shapes under its name. */
  readonly describe: SyncHook<[Described, Record<string, readonly Shape[]>]>;
  /** Why a generation cannot take effect: the first sentence counts. Asked after `setup`, and again before `commit`. */
  readonly conflict: SyncBailHook<[Staged], string>;
  /** Makes a generation visible, in one synchronous step. Taps add what takes it back; a throw takes everything back. */
  readonly commit: SyncHook<[Staged, (() => void)[]]>;
  /** Acquires the resources of a generation. `begin` waits for `work` and keeps the stop it returns. A rejection fails the start. */
  readonly started: AsyncSeriesHook<[Staged, (work: Begin) => Promise<void>]>;
  /** A generation is about to release its resources. */
  readonly draining: SyncHook<[Staged]>;
  /** A generation has released its resources; what it declared may still be in effect. */
  readonly stopped: SyncHook<[Staged]>;
  readonly state: SyncHook<[StateChange]>;
}

/** Acquires a resource; what it returns releases it. */
export type Begin = () => void | Stop | Promise<void | Stop>;
