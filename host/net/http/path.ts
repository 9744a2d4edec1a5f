/** One spelling per path, so that checks and routing see the same string. Pure. */

/**
 * The path of a request target in its one accepted spelling, percent-decoded.
 * @returns `undefined` for an ambiguous path: dot segments, doubled or encoded slashes, backslashes, control characters, double encoding
 */
export function canonicalPath(target: string): string | undefined {
  const raw = target.split(/[?#]/, 1)[0] ?? "";
  if (!raw.startsWith("/") || /%2f|%5c|%00|\\/i.test(raw)) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(raw);
  } catch {
    return undefined;
  }
  const doubtful =
    path.includes("//") ||
    path.split("/").some((part) => part === "." || part === "..") ||
    hasControl(path) ||
    path.includes("%");
  return doubtful ? undefined : path.normalize("NFC");
}

/**
 * The same target with plain slashes where a route takes the rest of the path as one value (`/things/*id`): clients
 * encode the slashes of such a value. Check the result with `canonicalPath` like any other target.
 * @param prefixes path before such a value, e.g. `/things/`. @returns `undefined` for every other target
 */
export function withPlainSlashes(target: string, prefixes: readonly string[]): string | undefined {
  const end = target.search(/[?#]|$/);
  const path = target.slice(0, end);
  const prefix = prefixes.find((start) => path.startsWith(start));
  if (prefix === undefined || !/%2f/i.test(path)) return undefined;
  return prefix + path.slice(prefix.length).replace(/%2f/gi, "/") + target.slice(end);
}

/** Includes the backslash. Compares code units for speed: it runs on every request. */
function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f || code === 0x5c) return true;
  }
  return false;
}
