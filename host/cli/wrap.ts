/** Breaks long lines of our own texts between words, as a narrow terminal would not. Pure but for the width. */

/** @param columns default: those of the terminal; of a file or a pipe there are none, and nothing is broken */
export function wrap(text: string, columns: number | undefined = process.stdout.columns): string {
  if (!columns) return text;
  return text
    .split("\n")
    .flatMap((line) => wrapLine(line, columns))
    .join("\n");
}

/** Choice: what follows is indented like the last column of the line, so that columns stay columns. */
function wrapLine(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const start = /^(?:\s*\S+(?: \S+)? {2,}|\s*)/.exec(line)?.[0].length ?? 0;
  const indent = " ".repeat(start <= columns / 2 ? start : 2);
  const lines = [line.slice(0, start)];
  for (const word of line.slice(start).split(" ")) {
    const last = lines.at(-1) ?? "";
    const isFirst = last.trim() === "" || (lines.length === 1 && last.length === start);
    const joined = isFirst ? `${last}${word}` : `${last} ${word}`;
    if (isFirst || joined.length <= columns) lines[lines.length - 1] = joined;
    else lines.push(`${indent}${word}`);
  }
  return lines;
}
