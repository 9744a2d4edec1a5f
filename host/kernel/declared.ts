/** Records the declarations of one `setup` before they become visible; the same in every carrier. */
import { type DeprecatedUses, noteDeprecated, noteRequirements } from "./deprecations.ts";
import type { AnyKind, Declared, Kind, Owned, PluginFacts, Shape } from "./kind.ts";

interface Recorded {
  readonly entry: unknown;
  readonly shape: Shape;
}

export class Recorder implements Declared {
  readonly #plugin: PluginFacts;
  readonly #isElsewhere: boolean;
  readonly #entries = new Map<string, Recorded[]>();
  /** Deprecated parts of the plugin API the plugin uses. */
  readonly deprecated: DeprecatedUses = new Map();
  #isOpen = true;

  /** @param isElsewhere the setup runs in another thread or process */
  constructor(plugin: PluginFacts, isElsewhere = false) {
    this.#plugin = plugin;
    this.#isElsewhere = isElsewhere;
    noteRequirements(this.deprecated, plugin);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Ends the recording: later declarations throw. */
  seal(): void {
    this.#isOpen = false;
  }

  /** @throws Error outside of `setup`, or if the entry cannot be declared from another thread or process */
  record<Entry, Live extends Owned>(kind: Kind<Entry, Live>, entry: Entry): void {
    const { id } = this.#plugin;
    const shape = kind.describe(entry);
    const what = `${kind.noun} ${shape.name}`;
    if (!this.#isOpen) throw new Error(`plugin ${id}: declaring the ${what} is only allowed inside setup()`);
    const refusal = this.#isElsewhere ? kind.refuse?.(entry) : undefined;
    if (refusal !== undefined) {
      const next = `next: svc config set plugins.entries.${id}.run host`;
      throw new Error(`the ${what} works only in the gateway's own thread: ${refusal}; ${next}`);
    }
    const [use, mark] = kind.deprecation?.(entry) ?? [];
    if (use !== undefined) noteDeprecated(this.deprecated, use, mark);
    const known = this.#entries.get(kind.name);
    if (known) known.push({ entry, shape });
    else this.#entries.set(kind.name, [{ entry, shape }]);
  }

  of<Entry, Live extends Owned>(kind: Kind<Entry, Live>): readonly Entry[] {
    return (this.#entries.get(kind.name) ?? []).map(({ entry }) => entry as Entry); // recorded under the name of its kind
  }

  shapes({ name }: AnyKind): readonly Shape[] {
    return (this.#entries.get(name) ?? []).map(({ shape }) => shape);
  }

  entry(kind: string, name: string): unknown {
    return this.#entries.get(kind)?.find(({ shape }) => shape.name === name)?.entry;
  }

  /** All entries, by name of kind: the result sent to the gateway. */
  entries(): Record<string, readonly unknown[]> {
    return Object.fromEntries([...this.#entries].map(([name, recorded]) => [name, recorded.map(({ entry }) => entry)]));
  }
}
