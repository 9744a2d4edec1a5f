/** Declarations of one kind that are in effect, by name. */
import type { Owner } from "../hooks/owner.ts";

export class Table<Live extends { readonly owner: Owner }> {
  readonly #entries = new Map<string, Live>();
  #inOrder: readonly Live[] | undefined;
  /** Grows with every change, so that whatever was built from the entries knows that it is old. */
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

  /** In plugin order, and as declared within a plugin. */
  list(): readonly Live[] {
    return (this.#inOrder ??= [...this.#entries.values()].sort((left, right) => left.owner.order - right.owner.order));
  }

  /** @returns takes it out again, unless another one has taken its place. Safe to call twice */
  add(name: string, entry: Live): () => void {
    this.#entries.set(name, entry);
    this.#changed();
    return () => {
      if (this.#entries.get(name) !== entry) return;
      this.#entries.delete(name);
      this.#changed();
    };
  }

  #changed(): void {
    this.#inOrder = undefined;
    this.version++;
  }
}
