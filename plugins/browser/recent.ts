/** A list that forgets its oldest entries. */
export class Recent<T> {
  items: T[] = [];
  /** Number of entries ever added. */
  total = 0;
  readonly #most: number;

  /** @param most entries that are kept */
  constructor(most: number) {
    this.#most = most;
  }

  add(item: T): T {
    this.total += 1;
    this.items.push(item);
    if (this.items.length > this.#most) this.items.shift();
    return item;
  }

  /** Entries added after the first `total`, as far as they are kept. */
  since(total: number): readonly T[] {
    return this.total > total ? this.items.slice(-(this.total - total)) : [];
  }

  clear(): void {
    this.items = [];
  }
}
