/**
 * References to objects across two threads or processes: each side keeps an object it handed out until the other side
 * has dropped it.
 */

interface Exported {
  readonly value: object;
  /** Times it was sent minus times it was dropped: it may be in transit again while the other side drops it. */
  sent: number;
}

/** Objects of this side that the other side may refer to. */
export class Exports {
  readonly #byRef = new Map<number, Exported>();
  readonly #refs = new Map<object, number>();
  #last = 0;

  get size(): number {
    return this.#byRef.size;
  }

  /** Call once for each time the object is sent. @returns its reference */
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

  /** @throws Error the reference was never handed out, or was dropped */
  get(ref: number): object {
    const entry = this.#byRef.get(ref);
    if (!entry) throw new Error(`unknown reference ${ref}`);
    return entry.value;
  }

  /** The other side dropped `count` of the references it received. */
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

  /** @param drop notifies the other side that this side no longer holds the object */
  constructor(drop: (ref: number, count: number) => void) {
    this.#forgotten = new FinalizationRegistry(({ ref, count }) => {
      if (this.#alive.get(ref)?.standIn.deref() === undefined) this.#alive.delete(ref);
      drop(ref, count);
    });
  }

  /** The stand-in for this reference, one as long as it is alive. Call once for each time the reference arrives. */
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

  /** The reference this object stands in for, or `undefined` for an object of this side. */
  refOf(value: object): number | undefined {
    return this.#refs.get(value);
  }
}
