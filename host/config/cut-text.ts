/** Removes one property or item from JSON5 text, including its comma; comments around it stay. Pure. */
import type { JsonToken } from "@croct/json5-parser";

/** Range in characters; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const FILLING: ReadonlySet<string> = new Set(["WHITESPACE", "NEWLINE", "LINE_COMMENT", "BLOCK_COMMENT"]);

const SEPARATOR: ReadonlySet<string> = new Set(["COMMA"]);

/** @param tokens all tokens of `text`, in order */
export function cutSpan(text: string, tokens: readonly JsonToken[], span: Span): string {
  const after = tokens.find(({ type, location }) => location.start.index >= span.end && !FILLING.has(type));
  const before = tokens.findLast(({ type, location }) => location.end.index <= span.start && !FILLING.has(type));
  const comma = [after, before].find((token) => token !== undefined && SEPARATOR.has(token.type));
  const cuts = [span, ...(comma ? [{ start: comma.location.start.index, end: comma.location.end.index }] : [])];
  return cuts
    .sort((left, right) => right.start - left.start)
    .reduce((rest, cut) => withoutBlankLine(rest.slice(0, cut.start) + rest.slice(cut.end), cut.start), text);
}

/** Removes a line left empty by the cut; elsewhere removes doubled spaces. */
function withoutBlankLine(text: string, at: number): string {
  const lead = /[ \t]*$/.exec(text.slice(0, at))?.[0].length ?? 0;
  const trail = /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0;
  const [start, end] = [at - lead, at + trail];
  const lineBegins = start === 0 || text[start - 1] === "\n";
  const lineEnd = /^\r?\n/.exec(text.slice(end))?.[0].length ?? 0;
  if (lineBegins && lineEnd > 0) return text.slice(0, start) + text.slice(end + lineEnd);
  return lead > 0 && trail > 0 ? text.slice(0, at) + text.slice(end) : text;
}
