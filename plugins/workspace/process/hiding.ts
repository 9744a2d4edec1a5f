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
  const longest = secrets[0]?.length ?? 0;
  const hidden = (text: string) => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
  let waiting = "";
  return {
    add(text) {
      if (longest === 0) return text;
      const all = hidden(waiting + text);
      const from = Math.max(0, all.length - longest + 1);
      const starts = Array.from({ length: all.length - from }, (_, index) => from + index);
      const begin = starts.find((at) => secrets.some((secret) => secret.startsWith(all.slice(at)))) ?? all.length;
      waiting = all.slice(begin);
      return all.slice(0, begin);
    },
    end() {
      const rest = waiting;
      waiting = "";
      return rest;
    },
  };
}
