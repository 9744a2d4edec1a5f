/** Subscriptions of node connections to sessions, by the exact session key. Spec: protocol/events.md §8. */

/** Choice: maximum keys of a connection, and characters of a key; others are refused. */
export const MAX_KEYS = 100;
export const MAX_KEY_CHARS = 512;

export class Subscriptions {
  readonly #byKey = new Map<string, Set<string>>();
  readonly #byConnection = new Map<string, Set<string>>();

  /** @returns whether the subscription was accepted */
  subscribe(connectionId: string, key: string): boolean {
    const keys = this.#byConnection.get(connectionId) ?? new Set();
    if (key.length > MAX_KEY_CHARS || (keys.size >= MAX_KEYS && !keys.has(key))) return false;
    this.#byConnection.set(connectionId, keys.add(key));
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(connectionId));
    return true;
  }

  unsubscribe(connectionId: string, key: string): void {
    forget(this.#byConnection, connectionId, key);
    forget(this.#byKey, key, connectionId);
  }

  /** Removes all subscriptions of a closed connection. */
  drop(connectionId: string): void {
    for (const key of this.#byConnection.get(connectionId) ?? []) forget(this.#byKey, key, connectionId);
    this.#byConnection.delete(connectionId);
  }

  /** Connections subscribed to exactly this key. */
  of(key: unknown): readonly string[] {
    return typeof key === "string" ? [...(this.#byKey.get(key) ?? [])] : [];
  }

  /** Whether any subscription exists. */
  get any(): boolean {
    return this.#byConnection.size > 0;
  }

  /** All connections with a subscription. */
  all(): readonly string[] {
    return [...this.#byConnection.keys()];
  }
}

function forget(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
