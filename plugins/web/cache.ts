/** Small in-memory cache with an expiry time, bounded by count and size; the least recently used entry is evicted first. */
import type { Clock } from "@svc/sdk";

export interface Cache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

export interface CacheOptions<T> {
  readonly clock: Pick<Clock, "now">;
  /** Milliseconds; 0 disables the cache. */
  readonly ttlMs: number;
  readonly maxEntries: number;
  /** Sum of the sizes of all entries. */
  readonly maxSize: number;
  sizeOf(value: T): number;
}

export function createCache<T>({ clock, ttlMs, maxEntries, maxSize, sizeOf }: CacheOptions<T>): Cache<T> {
  const entries = new Map<string, { readonly value: T; readonly until: number; readonly size: number }>();
  let total = 0;

  function drop(key: string): void {
    total -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      drop(key);
      if (entry.until <= clock.now()) return undefined;
      entries.set(key, entry); // moves it to the end, as most recently used
      total += entry.size;
      return entry.value;
    },
    set(key, value) {
      drop(key);
      const size = sizeOf(value);
      if (ttlMs <= 0 || size > maxSize) return;
      entries.set(key, { value, until: clock.now() + ttlMs, size });
      total += size;
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && total <= maxSize) break;
        drop(oldest);
      }
    },
  };
}
