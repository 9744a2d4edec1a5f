/**
 * Reads and writes `declared.json`: a plugin's declarations, written next to its entry when it is built. The host commits a sleeping plugin from this
 * file. A function is represented by its index within its declaration.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "@svc/sdk/errors";
import { type HookEmitter, matches, type Plugin, type TSchema } from "@svc/sdk";
import { Recorder } from "../kernel/declared.ts";
import {
  type AnyKind,
  type Declared,
  defaultsOf,
  type PluginFacts,
  type SetupContext,
  type Shape,
} from "../kernel/kind.ts";
import { gatewayOf } from "../kernel/setup.ts";
import { pack, type Receiver, type Sender, unpack } from "./crossing.ts";

type AnyFunction = (...args: unknown[]) => unknown;

/** Version of the file format; files of another version are ignored. */
const FORMAT = 2;

export interface WrittenPlugin {
  readonly format: typeof FORMAT;
  /** sha256 of the entry file it was created from; absent in the cache. */
  readonly entry?: string;
  /** Why it cannot be asleep; absent: it can. */
  readonly awake?: string;
  /** The static part of the plugin, packed. Absent: the plugin cannot be asleep. */
  readonly facts?: unknown;
  /** Set if its configuration schemas have checks that only its code can run; they are written without those checks. */
  readonly hasChecks?: true;
  /** Its declarations by kind, packed. Absent: the plugin cannot be asleep. */
  readonly entries?: Readonly<Record<string, readonly { readonly name: string; readonly entry: unknown }[]>>;
}

/** Path of `declared.json` for an entry file. */
export function writtenFile(directory: string, entry: string): string {
  return join(directory, dirname(entry), "declared.json");
}

/** Maximum number of files in `read`. */
const MOST_READ = 1_000;

/** Parsed files by path. Outlives the gateway, like imported modules: the same text yields the same schemas, which are compiled once. */
const read = new Map<string, { readonly text: string; readonly written: WrittenPlugin }>();

/** @returns `undefined` if the file is missing, of another format version, or truncated */
export function readWritten(file: string): WrittenPlugin | undefined {
  try {
    const text = readFileSync(file, "utf8");
    const known = read.get(file);
    const written = known?.text === text ? known.written : (JSON.parse(text) as WrittenPlugin);
    if (written.format !== FORMAT) return undefined;
    if (read.size > MOST_READ) read.clear();
    read.set(file, { text, written });
    return written;
  } catch {
    return undefined; // the code is then imported at the start
  }
}

/** Runs the setup of a plugin with its defaults and serializes what it declares. Acquires no resources. */
export async function write(plugin: Plugin, kinds: readonly AnyKind[], entryFile: string): Promise<WrittenPlugin> {
  const entry = createHash("sha256").update(readFileSync(entryFile)).digest("hex");
  try {
    const recorder = new Recorder(plugin);
    refuseDefaults(plugin);
    await plugin.setup(recordingGateway(plugin, kinds, recorder) as never); // typed by definePlugin
    recorder.seal();
    return { ...writtenOf(plugin, kinds, recorder), entry };
  } catch (error) {
    return { ...writtenOf(plugin, kinds, undefined), awake: `setup with its defaults: ${messageOf(error)}`, entry };
  }
}

/** @param declared by a setup with the plugin's defaults; `undefined`: unknown */
export function writtenOf(
  plugin: PluginFacts & Partial<Pick<Plugin, "setup" | "configWarnings">>,
  kinds: readonly AnyKind[],
  declared: Declared | undefined,
): WrittenPlugin {
  const { setup: _, configWarnings: _warnings, ...part } = plugin;
  const written: WrittenPlugin = { format: FORMAT };
  try {
    if (!declared) return written;
    const awake = kinds.flatMap((kind) => declared.of(kind).flatMap((entry) => kind.wakes?.(entry) ?? []))[0];
    if (awake !== undefined) return { ...written, awake };
    let hasChecks = false;
    const facts = withoutChecks(packed(part, "its static part"), () => (hasChecks = true));
    refuseForeign(facts, "its static part");
    return { ...written, facts, ...(hasChecks ? { hasChecks } : {}), entries: entriesOf(kinds, declared) };
  } catch (error) {
    return { ...written, awake: `it cannot be serialized: ${messageOf(error)}` };
  }
}

/** @throws Error the plugin requires a configuration, so its declarations are unknown without one */
function refuseDefaults(plugin: Plugin): void {
  const { value, sections } = defaultsOf(plugin);
  const schemas = [
    [plugin.config, value],
    ...Object.entries(plugin.sections ?? {}).map(([key, schema]) => [schema, sections[key]]),
  ] as const;
  for (const [schema, filled] of schemas)
    if (schema && !matches(schema as TSchema, filled))
      throw new Error("the defaults of its configuration do not match its schema");
}

function entriesOf(kinds: readonly AnyKind[], declared: Declared): NonNullable<WrittenPlugin["entries"]> {
  const written = kinds.map((kind) => {
    const entries = declared.of(kind).flatMap((entry) => {
      const kept = kind.asleep ? kind.asleep(entry) : entry;
      if (kept === undefined) return [];
      const { name } = kind.describe(entry);
      return [{ name, entry: toJson(kept, `${kind.noun} ${name}`) }];
    });
    return [kind.name, entries] as const;
  });
  return Object.fromEntries(written.filter(([, entries]) => entries.length > 0));
}

/** @throws Error naming what cannot be serialized */
function toJson(value: unknown, what: string): unknown {
  const written = packed(value, what);
  refuseForeign(written, what);
  return written;
}

function packed(value: unknown, what: string): unknown {
  return pack(value, numbering([]), what);
}

/** Removes the checks of `Type.Refine` from packed schemas. */
function withoutChecks(value: unknown, dropped: () => void): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutChecks(item, dropped));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  if ("hidden" in value && "shown" in value && typeof value.hidden === "object" && value.hidden !== null) {
    const { [REFINE]: checks, ...hidden } = value.hidden as Readonly<Record<string, unknown>>;
    if (checks !== undefined) {
      dropped();
      return { ...value, shown: withoutChecks(value.shown, dropped), hidden };
    }
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutChecks(inner, dropped)]));
}

/** The key in which a TypeBox schema stores the checks of `Type.Refine`. */
const REFINE = "~refine";

/** Rejects values that can be cloned to a thread but not written as JSON, like maps and dates. */
function refuseForeign(value: unknown, where: string): void {
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value)))
    throw new Error(`${where}: ${String(value)} cannot be serialized`);
  if (typeof value !== "object" || value === null) return;
  if ("hidden" in value && "shown" in value && hasFunction(value.hidden))
    throw new Error(`${where}: a schema with a check of its own cannot be serialized`);
  const type = Object.getPrototypeOf(value) as object | null;
  if (!Array.isArray(value) && type !== null && type !== Object.prototype)
    throw new Error(`${where}: an object of the class ${value.constructor.name} cannot be serialized`);
  for (const [key, inner] of Object.entries(value)) refuseForeign(inner, `${where}.${key}`);
}

/** Whether a packed value contains a function. */
function hasFunction(packed: unknown): boolean {
  if (typeof packed !== "object" || packed === null) return false;
  return (
    ("~" in packed && packed["~"] === "function") || Object.values(packed).some((inner: unknown) => hasFunction(inner))
  );
}

/** Numbers the functions within one value in order: packing the same value again yields the same numbers. */
function numbering(functions: object[]): Sender {
  return {
    handOut: (value) => functions.push(value) - 1,
    refOf: () => undefined,
    hasIdentity: () => false,
    weigh: () => undefined,
    watch() {
      throw new Error("a signal cannot be serialized");
    },
  };
}

/** The static part; the same object for the same `written`. @returns `undefined` if it was not written */
export function factsOf(written: WrittenPlugin): PluginFacts | undefined {
  if (written.facts === undefined) return undefined;
  const known = unpacked.get(written);
  if (known) return known;
  const facts = unpack(
    written.facts,
    receiver(() => noFunction),
  ) as PluginFacts; // written by `write`
  unpacked.set(written, facts);
  return facts;
}

const unpacked = new WeakMap<WrittenPlugin, PluginFacts>();

const noFunction = () => {
  throw new Error("a function of the static part is not available while the plugin is asleep");
};

/** Restores an entry; each function calls `call` with its number. */
export function entryOf(packed: unknown, call: (ref: number, args: readonly unknown[]) => Promise<unknown>): unknown {
  return unpack(
    packed,
    receiver(
      (ref) =>
        (...args) =>
          call(ref, args),
    ),
  );
}

function receiver(standIn: (ref: number) => AnyFunction): Receiver {
  const never = () => {
    throw new Error("declared.json is invalid: it contains an unknown reference; rebuild the plugin");
  };
  return { standIn, same: never, mine: never, signal: never, iterable: never };
}

/** Calls the function with this number in an entry. */
export function callOf(entry: unknown, ref: number, args: readonly unknown[]): unknown {
  const functions: object[] = [];
  pack(entry, numbering(functions));
  const called = functions[ref] as AnyFunction | undefined; // only functions are handed out
  if (!called) throw new Error("declared.json is older than the code of the plugin; rebuild the plugin");
  return called(...args);
}

/** The first difference between the file and the declarations of the code, as a message; `undefined`: none. */
export function difference(written: WrittenPlugin, kinds: readonly AnyKind[], declared: Declared): string | undefined {
  for (const kind of kinds) {
    const listed = new Set(written.entries?.[kind.name]?.map(({ name }) => name));
    const kept = declared.of(kind).filter((entry) => !kind.asleep || kind.asleep(entry) !== undefined);
    const shapes = kept.map((entry): Shape => kind.describe(entry));
    const added = shapes.find(({ name }) => !listed.has(name));
    if (added) return `the ${kind.noun} ${added.name} is not in it`;
    const gone = [...listed].find((name) => !shapes.some((shape) => shape.name === name));
    if (gone !== undefined) return `it has the ${kind.noun} ${gone}, which the code does not declare`;
  }
  return undefined;
}

function recordingGateway(plugin: Plugin, kinds: readonly AnyKind[], recorder: Recorder) {
  const never = () => {
    throw new Error("setup() may only declare; it must not use the gateway");
  };
  const context: SetupContext = {
    plugin,
    clock: { now: () => 0, elapsed: () => 0, setTimeout: never, setInterval: never },
    signal: new AbortController().signal,
    isOpen: () => recorder.isOpen,
    run: (work) => work(),
    failed: never,
    restart: never,
    publish: never,
    forward: never,
    emitter: () => ({ isUsed: () => false, emit: never }) as unknown as HookEmitter<never>,
    view: () => ({ list: () => [], get: () => undefined, call: never }),
  };
  const silent = () => undefined;
  return gatewayOf({
    context,
    kinds,
    recorder,
    config: defaultsOf(plugin),
    services: Object.fromEntries(Object.keys(plugin.requires ?? {}).map((name) => [name, unusable(name)])),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    stateDir: never,
    call: never,
  });
}

/** Stand-in for a service that `setup` may pass on but not use. */
function unusable(name: string): unknown {
  const refuse = (): never => {
    throw new Error(`setup() uses the service ${name}, which is only allowed from start() on`);
  };
  return new Proxy(() => undefined, {
    get: (target, key) => (key === "then" ? undefined : (Reflect.get(target, key) ?? refuse())),
    apply: refuse,
  });
}
