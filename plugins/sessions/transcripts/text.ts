/** Short forms of message texts for lists. Pure. */

/** One line: white space of any kind becomes single spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}

/** At most `max` UTF-16 units, the last one "…" when something was cut. Never cuts a character in two. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = text.slice(0, max - 1);
  return `${/[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head}…`;
}

/** As `cut`, at the last space when that keeps at least half. */
export function cutAtWord(text: string, max: number): string {
  if (text.length <= max) return text;
  const space = text.lastIndexOf(" ", max - 1);
  return space >= max / 2 ? `${text.slice(0, space)}…` : cut(text, max);
}
