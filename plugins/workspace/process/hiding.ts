/** Hides values in a text that arrives in parts. Pure. */

/** Choice: shorter values may be ordinary words, and are shown. */
const MIN_CHARS = 6;
const HIDDEN = "[hidden]";

export interface Hiding {
  /** @returns the text that can be shown; an end that may be the beginning of a value waits */
  add(text: string): string;
  /** @returns the rest */
  end(): string;
}

/** @param values e.g. the key of a skill */
export function hiding(values: readonly string[]): Hiding {
  const secrets = values
    .flatMap((value) => [value, value.trim()])
    .filter(({ length }) => length >= MIN_CHARS)
    .toSorted((a, b) => b.length - a.length);
  let waiting = "";
  return {
    add(text) {
      if (secrets.length === 0) return text;
      const all = waiting + text;
      let [shown, at] = ["", 0];
      while (at < all.length && !isBeginning(all, at)) {
        const secret = secrets.find((one) => all.startsWith(one, at));
        shown += secret === undefined ? all[at] : HIDDEN;
        at += secret?.length ?? 1;
      }
      waiting = all.slice(at);
      return shown;
    },
    end() {
      const rest = waiting;
      waiting = "";
      return secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), rest);
    },
  };

  /** Whether the text from here on is less than a value, and may become one. */
  function isBeginning(text: string, at: number): boolean {
    const length = text.length - at;
    return secrets.some((one) => one.length > length && one.startsWith(text.slice(at)));
  }
}
