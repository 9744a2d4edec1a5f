/**
 * Where each connection stopped reading, for clients that send only a cursor. When the file was renamed meanwhile, they get
 * the rest of it first, then the new file with `reset`. Pure.
 */

/** A place in the log. */
export interface Place {
  readonly part: string;
  readonly cursor: number;
}

/** Choice: maximum number of remembered connections; more than a gateway has in practice. */
const MAX_FOLLOWERS = 1_000;

export class Followers {
  readonly #places = new Map<string, Place>();

  /** The file the cursor belongs to, if it ended the last result of this connection. */
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
