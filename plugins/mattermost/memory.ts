/** A bounded map; the least recently used entry is dropped first. */
export interface Memory<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

export function createMemory<T>(maxEntries: number): Memory<T> {
  const entries = new Map<string, T>();
  const put = (key: string, value: T) => {
    entries.delete(key);
    entries.set(key, value);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) put(key, value);
      return value;
    },
    set(key, value) {
      put(key, value);
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
  };
}
