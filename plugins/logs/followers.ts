/**
 * Where each connection stopped reading, for clients that know nothing but a cursor: when the file was renamed meanwhile,
 * they get the rest of it first, then the new one with `reset`. Pure.
 */

/** A place in the log. */
export interface Place {
  readonly part: string;
  readonly cursor: number;
}

/** Choice: connections that are remembered; more than a gateway has in practice. */
const MAX_FOLLOWERS = 1_000;

export class Followers {
  readonly #places = new Map<string, Place>();

  /** The file that the cursor is of, where the connection had it in its last answer. */
  partOf(connection: string, cursor: number): string | undefined {
    const place = this.#places.get(connection);
    return place?.cursor === cursor ? place.part : undefined;
  }

  answered(connection: string, place: Place): void {
    this.#places.delete(connection);
    this.#places.set(connection, place);
    const [oldest] = this.#places.keys();
    if (this.#places.size > MAX_FOLLOWERS && oldest !== undefined) this.#places.delete(oldest);
  }

  left(connection: string): void {
    this.#places.delete(connection);
  }
}
