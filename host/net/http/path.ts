/** One spelling per path: what is decided on and what is acted on are the same string. Pure. */

/**
 * The path of a request target in its one accepted spelling, percent-decoded.
 * @returns `undefined` for anything with a second reading: dot segments, doubled or encoded slashes, backslashes, control characters
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
 * The same target with plain slashes where a route takes all that is left of the path as one value (`/things/*id`): clients
 * encode the slashes of such a value. The result is to be judged by `canonicalPath` like any other.
 * @param prefixes what stands before such a value, e.g. `/things/`. @returns `undefined` for every other target
 */
export function withPlainSlashes(target: string, prefixes: readonly string[]): string | undefined {
  const end = target.search(/[?#]|$/);
  const path = target.slice(0, end);
  const prefix = prefixes.find((start) => path.startsWith(start));
  if (prefix === undefined || !/%2f/i.test(path)) return undefined;
  return prefix + path.slice(prefix.length).replace(/%2f/gi, "/") + target.slice(end);
}

/** Also a backslash. By code unit: every request comes by here. */
function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f || code === 0x5c) return true;
  }
  return false;
}
