/** Patterns of an allowlist: which programs they mean. Pure. Spec: protocol/stores.md §7; the pattern language is a choice. */

/** Choice: characters of a pattern. */
const MAX_PATTERN = 1_024;

/**
 * What is wrong with a pattern, as a sentence with an example; `undefined`: nothing. Names can be given to any program, so a
 * pattern without a directory (`rg`, `*`, `""`) is refused, and matches nothing where it stands in a file.
 */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters; e.g. /usr/bin/rg`;
  const shown = JSON.stringify(pattern);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(pattern)) return `${shown} has control characters; write e.g. /usr/bin/rg`;
  if (!pattern.startsWith("/") && !pattern.startsWith("~/")) {
    return `${shown} names no directory, and any program can have that name; write the whole path, e.g. /usr/bin/rg, or a glob like ~/tools/*`;
  }
  if (pattern.split("/").some((segment) => segment === "." || segment === "..")) {
    return `${shown} has . or .. in it, which no real path has; write e.g. /usr/bin/rg`;
  }
  return undefined;
}

/**
 * Whether a pattern means this program. The whole path counts, and upper and lower case differ. `*`: any characters but `/`;
 * `**`: any characters; `?`: one character but `/`; a leading `~/`: the home directory; all else stands for itself.
 * @param path absolute real path, symbolic links followed; another kind matches nothing
 */
export function matchesPattern(pattern: string, path: string, home: string): boolean {
  if (patternFault(pattern) !== undefined || !path.startsWith("/")) return false;
  const isHome = pattern.startsWith("~/");
  // The home directory stands for itself, whatever characters it has.
  const root = isHome ? home.replace(/\/+$/, "") : "";
  if (isHome && (!home.startsWith("/") || !path.startsWith(root))) return false;
  return matchesGlob(isHome ? pattern.slice(1) : pattern, path.slice(root.length));
}

/** Walks all ways through the pattern at once, so that its cost is the product of both lengths and never more. */
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

/** Stars may stand for nothing. */
function skipStars(places: Set<number>, tokens: readonly string[]): Set<number> {
  for (const place of places) if (tokens[place]?.startsWith("*")) places.add(place + 1); // a set grows while it is walked
  return places;
}
