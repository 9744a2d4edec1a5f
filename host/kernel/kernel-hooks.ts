/** The plugin lifecycle as tapable hooks, and how each kind of declaration taps them. */
import { AsyncSeriesBailHook, AsyncSeriesHook, SyncBailHook, SyncHook } from "tapable";
import type { HookBus } from "../hooks/hook-bus.ts";
import { hostOwner } from "../hooks/owner.ts";
import {
  type AnyKind,
  type Described,
  type KernelHooks,
  type Kind,
  type LiveTables,
  type Owned,
  type Shape,
  type Staged,
} from "./kind.ts";
import { unlisted } from "./listing.ts";
import { Table } from "./table.ts";

function createHooks(): KernelHooks {
  return {
    resolve: new AsyncSeriesBailHook(["source"]),
    describe: new SyncHook(["described", "shapes"]),
    conflict: new SyncBailHook(["staged"]),
    commit: new SyncHook(["staged", "undo"]),
    started: new AsyncSeriesHook(["staged", "begin"]),
    draining: new SyncHook(["staged"]),
    stopped: new SyncHook(["staged"]),
    state: new SyncHook(["change"]),
  };
}

/** The kinds of declaration of one gateway, the declarations in effect, and the hooks that the kinds tap. */
export class Kinds implements LiveTables {
  readonly hooks = createHooks();
  readonly bus: HookBus;
  readonly all: readonly AnyKind[];
  readonly #tables = new Map<string, Table<Owned>>();

  constructor(bus: HookBus, kinds: readonly AnyKind[]) {
    this.bus = bus;
    this.all = kinds;
    for (const kind of kinds) this.#tap(kind);
  }

  #tap(kind: AnyKind): void {
    const { name } = kind;
    const { describe, conflict, commit } = this.hooks;
    if (this.all.find((other) => other.name === name) !== kind)
      throw new Error(`the kind of declaration "${name}" is registered twice; rename one of the two kinds`);
    if (kind.isUnique) this.#tables.set(name, new Table());
    describe.tap(name, (described, shapes) => {
      const known = [...(kind.known?.(described, this) ?? []), ...(described.declared?.shapes(kind) ?? [])];
      if (known.length > 0) shapes[name] = known;
    });
    conflict.tap(name, (staged) => this.#conflict(kind, staged) as string); // tapable's type does not allow `undefined`, which means no conflict
    commit.tap(name, (staged, undo) => {
      for (const entry of staged.declared.of(kind)) this.#commit(kind, entry, staged, undo);
    });
    kind.tap?.(this.hooks);
  }

  table<Entry, Live extends Owned>({ name }: Kind<Entry, Live>): Table<Live> {
    const table = this.#tables.get(name);
    if (!table) throw new Error(`the kind ${name} has no table`);
    return table as Table<Owned> as Table<Live>; // only this kind fills the table
  }

  named(name: string): AnyKind {
    const kind = this.all.find((one) => one.name === name);
    if (!kind) throw new Error(`unknown kind of declaration: ${name}`);
    return kind;
  }

  /** Puts a declaration of the host itself into effect. */
  provide<Entry, Live extends Owned>(kind: Kind<Entry, Live>, entry: Entry): void {
    this.table(kind).add(kind.describe(entry).name, liveOf(kind, entry, hostOwner));
  }

  /** Number of declarations in effect, for each kind whose names are unique. */
  sizes(): Record<string, number> {
    return Object.fromEntries([...this.#tables].map(([name, { size }]) => [name, size]));
  }

  /**
   * Declarations of a plugin, by kind. For a plugin that is not running: the declarations that are known without its
   * setup.
   */
  describe(described: Described): Record<string, readonly Shape[]> {
    const shapes: Record<string, readonly Shape[]> = {};
    this.hooks.describe.call(described, shapes);
    return shapes;
  }

  /**
   * Reasons why committed declarations currently do nothing, e.g. a contribution to an extension point that no plugin
   * owns. For reports.
   */
  inert({ declared }: Pick<Staged, "declared">): string[] {
    const reasons = new Set<string>();
    for (const kind of this.all) {
      if (!kind.inert) continue;
      for (const entry of declared.of(kind)) {
        const reason = kind.inert(entry, this);
        if (reason !== undefined) reasons.add(reason);
      }
    }
    return [...reasons];
  }

  #conflict(kind: AnyKind, staged: Staged): string | undefined {
    const { plugin, declared, manifest } = staged;
    const { noun, listing } = kind;
    const table = kind.isUnique && this.table(kind);
    const own = new Set<string>();
    for (const shape of declared.shapes(kind)) {
      const { name } = shape;
      if (table) {
        const other = table.get(name)?.owner.id;
        if (other !== undefined && other !== plugin.id) return `${noun} ${name} is already declared by ${other}`;
        if (own.has(name)) return `plugin ${plugin.id} declares the ${noun} ${name} twice`;
        own.add(name);
      }
      const isChecked = listing?.refused === "always" || (listing?.refused === "packaged" && manifest?.directory);
      const problem = isChecked ? unlisted(kind, shape, plugin.id, manifest) : undefined;
      if (problem) return `${problem.why}; ${problem.next}`;
    }
    return kind.conflict?.(declared.of(kind), staged);
  }

  #commit(kind: AnyKind, entry: unknown, staged: Staged, undo: (() => void)[]): void {
    if (kind.isUnique) undo.push(this.table(kind).add(kind.describe(entry).name, liveOf(kind, entry, staged.owner)));
    const takeBack = kind.commit?.(entry, staged);
    if (takeBack) undo.push(takeBack);
  }

  /**
   * Makes all declarations visible in one synchronous step.
   * @returns a function that withdraws all of them, last first; safe to call twice. @throws what a kind throws, after
   * withdrawing everything
   */
  commit(staged: Staged): () => void {
    const undo: (() => void)[] = [];
    const takeBack = () => {
      for (const step of undo.splice(0).reverse()) step();
    };
    try {
      this.hooks.commit.call(staged, undo);
    } catch (error) {
      takeBack();
      throw error;
    }
    return takeBack;
  }
}

function liveOf<Entry, Live extends Owned>(kind: Kind<Entry, Live>, entry: Entry, owner: Live["owner"]): Live {
  return kind.live?.(entry, owner) ?? ({ ...entry, owner } as unknown as Live); // the default of `Live`
}
