/** How an agent's memory is searched: its own settings over those of all. Pure. */
import { isSecretRef, type MemorySearch } from "@svc/sdk/services";

/** Key by key; a list, and a reference to a secret, is one value. */
export function mergeMemorySearch(defaults: MemorySearch = {}, own: MemorySearch = {}): MemorySearch {
  return merged(defaults, own) as MemorySearch; // both have its shape, and so has what is made of them key by key
}

function merged(below: unknown, above: unknown): unknown {
  if (!isPlain(below) || !isPlain(above)) return above === undefined ? below : above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(below[key], above[key])]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isSecretRef(value);
}
