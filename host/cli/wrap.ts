/** Wraps long lines of help and messages between words. Pure except for the default width. */

/** @param columns default: the width of the terminal; output to a file or pipe is not wrapped */
export function wrap(text: string, columns: number | undefined = process.stdout.columns): string {
  if (!columns) return text;
  return text
    .split("\n")
    .flatMap((line) => wrapLine(line, columns))
    .join("\n");
}

/** Choice: continuation lines are indented to the last column, so that columns stay aligned. */
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
