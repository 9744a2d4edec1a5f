/**
 * Patterns of an allowlist and the programs they match. Pure. Spec: protocol/stores.md §7; the pattern language is a
 * choice.
 */

/** Choice: maximum characters of a pattern. */
const MAX_PATTERN = 1_024;

/**
 * Why a pattern is invalid, as a sentence with an example; `undefined`: it is valid. Any program can have a given name,
 * so a pattern without a directory (`rg`, `*`, `""`) is rejected, and matches nothing if it is in a file.
 */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters; e.g. /usr/bin/rg`;
  const shown = JSON.stringify(pattern);
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  if (/[\u0000-\u001f\u007f]/.test(pattern)) return `${shown} has control characters; write e.g. /usr/bin/rg`;
  if (!pattern.startsWith("/") && !pattern.startsWith("~/")) {
    return `${shown} has no directory, and any program can have that name; write the full path, e.g. /usr/bin/rg, or a glob like ~/tools/*`;
  }
  if (pattern.split("/").some((segment) => segment === "." || segment === "..")) {
    return `${shown} contains . or .., which a real path never does; write e.g. /usr/bin/rg`;
  }
  return undefined;
}

/**
 * Whether a pattern matches this program. Compares the whole path, case-sensitively. `*`: any characters except `/`;
 * `**`: any characters; `?`: one character except `/`; a leading `~/`: the home directory; everything else is literal.
 * @param path absolute real path, symbolic links resolved; any other path matches nothing
 */
export function matchesPattern(pattern: string, path: string, home: string): boolean {
  if (patternFault(pattern) !== undefined || !path.startsWith("/")) return false;
  const isHome = pattern.startsWith("~/");
  // The home directory is literal, whatever characters it contains.
  const root = isHome ? home.replace(/\/+$/, "") : "";
  if (isHome && (!home.startsWith("/") || !path.startsWith(root))) return false;
  return matchesGlob(isHome ? pattern.slice(1) : pattern, path.slice(root.length));
}

/** Follows all alternatives through the pattern at once, so the cost never exceeds the product of both lengths. */
function matchesGlob(glob: string, text: string): boolean {
  const tokens = glob.match(/\*{2,}|[\s\S]/gu) ?? [];
  let places = skipStars(new Set([0]), tokens);
  for (const character of text) {
    const next = new Set<number>();
    for (const place of places) {
      const token = tokens[place];
      if (token === undefined) continue;
      const isStar = token === "*" || token.startsWith("**");
      if (isStar && (token !== "*" || character !== "/")) next.add(place);
      if (!isStar && (token === character || (token === "?" && character !== "/"))) next.add(place + 1);
    }
    if (next.size === 0) return false;
    places = skipStars(next, tokens);
  }
  return places.has(tokens.length);
}

/** A star may match nothing. */
function skipStars(places: Set<number>, tokens: readonly string[]): Set<number> {
  for (const place of places) if (tokens[place]?.startsWith("*")) places.add(place + 1); // members added during the iteration are visited, too
  return places;
}
