/** The declarations of one kind in effect, by name. */
import type { Owner } from "../hooks/owner.ts";

export class Table<Live extends { readonly owner: Owner }> {
  readonly #entries = new Map<string, Live>();
  #inOrder: readonly Live[] | undefined;
  /** Incremented on every change, so that anything derived from the entries can detect that it is outdated. */
  version = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): Live | undefined {
    return this.#entries.get(name);
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  /** In plugin order; within a plugin, in insertion order. */
  list(): readonly Live[] {
    return (this.#inOrder ??= [...this.#entries.values()].sort((left, right) => left.owner.order - right.owner.order));
  }

  /**
   * Adds or replaces an entry. @returns a function that removes the entry, unless another entry has replaced it; safe
   * to call twice
   */
  add(name: string, entry: Live): () => void {
    this.#entries.set(name, entry);
    this.#changed();
    return () => {
      if (this.#entries.get(name) !== entry) return;
      this.#entries.delete(name);
      this.#changed();
    };
  }

  /** @returns a function that returns what `make` makes of the entries; it is made again only after a change */
  derived<T>(make: (entries: readonly Live[]) => T): () => T {
    let kept: { readonly version: number; readonly made: T } | undefined;
    return () => {
      if (kept?.version !== this.version) kept = { version: this.version, made: make(this.list()) };
      return kept.made;
    };
  }

  #changed(): void {
    this.#inOrder = undefined;
    this.version++;
  }
}
