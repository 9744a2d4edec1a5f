/**
 * What two threads or processes know of each other's objects: each side keeps what it handed out until the other side
 * has forgotten it.
 */

interface Exported {
  readonly value: object;
  /** How often it was sent and not dropped yet: it may be on its way once more while the other side lets go. */
  sent: number;
}

/** Objects of this side that the other may name. */
export class Exports {
  readonly #byRef = new Map<number, Exported>();
  readonly #refs = new Map<object, number>();
  #last = 0;

  get size(): number {
    return this.#byRef.size;
  }

  /** To be called for each time it is sent. */
  add(value: object): number {
    const known = this.#refs.get(value);
    const ref = known ?? ++this.#last;
    const entry = this.#byRef.get(ref);
    if (entry) entry.sent++;
    else {
      this.#byRef.set(ref, { value, sent: 1 });
      this.#refs.set(value, ref);
    }
    return ref;
  }

  /** @throws Error the other side names what it was never given, or has dropped */
  get(ref: number): object {
    const entry = this.#byRef.get(ref);
    if (!entry) throw new Error(`unknown reference ${ref}`);
    return entry.value;
  }

  /** The other side has forgotten so many of those it was sent. */
  dropped(ref: number, count: number): void {
    const entry = this.#byRef.get(ref);
    if (!entry || (entry.sent -= count) > 0) return;
    this.#byRef.delete(ref);
    this.#refs.delete(entry.value);
  }
}

interface Held {
  readonly ref: number;
  count: number;
}

/** Stand-ins on this side for objects of the other. */
export class Imports {
  readonly #alive = new Map<number, { readonly standIn: WeakRef<object>; readonly held: Held }>();
  readonly #refs = new WeakMap<object, number>();
  readonly #forgotten: FinalizationRegistry<Held>;

  /** @param drop tells the other side that nobody here holds it any more */
  constructor(drop: (ref: number, count: number) => void) {
    this.#forgotten = new FinalizationRegistry(({ ref, count }) => {
      if (this.#alive.get(ref)?.standIn.deref() === undefined) this.#alive.delete(ref);
      drop(ref, count);
    });
  }

  /** The one stand-in for this reference; to be called for each time it arrives. */
  take(ref: number, make: () => object): object {
    const known = this.#alive.get(ref);
    const standIn = known?.standIn.deref();
    if (known && standIn) {
      known.held.count++;
      return standIn;
    }
    const made = make();
    const held = { ref, count: 1 };
    this.#alive.set(ref, { standIn: new WeakRef(made), held });
    this.#refs.set(made, ref);
    this.#forgotten.register(made, held);
    return made;
  }

  /** The reference this object stands in for, or `undefined` for one of this side. */
  refOf(value: object): number | undefined {
    return this.#refs.get(value);
  }
}
