/** Hides comments that may contain secrets, e.g. commented-out keys, and restores them when a reader writes the text back. Pure. */
import { isSecretName, isSecretOption, REDACTED } from "./redact.ts";
import { hideShapes } from "./secret-shapes.ts";

/** Part of a text. Comments separated only by white space form one span. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Strings, so that slashes in them are not taken for comments; then comments. */
const TOKEN = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?(?:\*\/|$)/g;
/** Keys whose values may be secret although the name does not say so. */
const HOLDERS = /^(?:headers|env|args|when|auth|key|pwd|pass\w*)$/i;

function commentsOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { 0: token, index: start } of text.matchAll(TOKEN)) {
    if (!token.startsWith("/")) continue;
    const end = start + token.length;
    const last = spans.at(-1);
    if (last && text.slice(last.end, start).trim() === "") spans[spans.length - 1] = { start: last.start, end };
    else spans.push({ start, end });
  }
  return spans;
}

/** Choice: a comment that mentions a secret name is hidden as a whole, since its text cannot be parsed reliably. */
function mayHoldSecret(comment: string): boolean {
  const words = comment.match(/[\w$-]+/g) ?? [];
  return (
    hideShapes(comment) !== comment ||
    words.some((one) => isSecretName(one) || isSecretOption(one) || HOLDERS.test(one))
  );
}

const secretComments = (text: string) =>
  commentsOf(text).filter(({ start, end }) => mayHoldSecret(text.slice(start, end)));

function replaced(text: string, spans: readonly Span[], instead: (comment: string, index: number) => string): string {
  let end = 0;
  const parts = spans.map((span, index) => {
    const before = text.slice(end, span.start);
    end = span.end;
    return before + instead(text.slice(span.start, span.end), index);
  });
  return parts.join("") + text.slice(end);
}

/** Replaces each comment that may contain a secret with a numbered marker. */
export function hideComments(text: string): string {
  const isLine = (comment: string) =>
    comment
      .slice(comment.lastIndexOf("\n") + 1)
      .trimStart()
      .startsWith("//");
  return replaced(text, secretComments(text), (comment, index) =>
    isLine(comment) ? `// ${REDACTED} ${index + 1}` : `/* ${REDACTED} ${index + 1} */`,
  );
}

/** Replaces the markers of `hideComments` with the comments of `current`. A marker without a matching comment stays. */
export function restoreComments(text: string, current: string): string {
  if (!text.includes(REDACTED)) return text;
  const kept = secretComments(current).map(({ start, end }) => current.slice(start, end));
  const marker = new RegExp(`(?://|/\\*) ${REDACTED} (\\d+)(?: \\*/)?`, "g");
  return replaced(text, commentsOf(text), (comment) =>
    comment.replace(marker, (whole, number: string) => kept[Number(number) - 1] ?? whole),
  );
}
