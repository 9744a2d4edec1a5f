/**
 * Templates of mappings: text with `{{places}}` in it. No filters, no defaults, no loops; the output is never parsed as a
 * template again. Spec: http/webhooks.md §6.4. Pure.
 */
import { GatewayError } from "@svc/sdk";
import { isPrototypeKey } from "../config/plain-data.ts";
import { parsePlace, readPlace } from "./payload-path.ts";

/** Choice: far more than a message needs. */
const MAX_EXPRESSIONS = 256;
/** Characters. Choice: a larger text is a mistake or an attack. */
const MAX_RENDERED = 1_048_576;

/** Values for the rendering of a template. */
export interface TemplateScope {
  readonly payload: unknown;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** sub-path */
  readonly path: string;
  /** epoch ms */
  readonly now: number;
  /** called with each place that has no value */
  missing(place: string): void;
}

/** A checked template. */
export interface Template {
  readonly source: string;
  /** @throws GatewayError `INVALID_REQUEST`: the text would exceed 1 MiB characters, or its JSON is nested too deeply */
  render(scope: TemplateScope): string;
}

/** Why a text is not a valid template. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

interface Expression {
  /** As reported to `missing`. */
  readonly place: string;
  read(scope: TemplateScope): unknown;
}

/** @throws TemplateError naming the problem and its position */
export function compileTemplate(source: string): Template {
  if (!source.includes("{{")) return { source, render: () => source };
  const parts = split(source);
  return { source, render: (scope) => renderParts(parts, scope) };
}

/** Splits a template into texts and expressions. An unclosed `{{` is text; of several before one `}}`, the last one opens. */
function split(source: string): readonly (string | Expression)[] {
  const parts: (string | Expression)[] = [];
  let expressions = 0;
  let textFrom = 0;
  let at = 0;
  for (;;) {
    const open = source.indexOf("{{", at);
    const close = open < 0 ? -1 : source.indexOf("}", open + 2);
    if (close < 0) break;
    at = close + 1;
    if (source[at] !== "}") continue; // an expression contains no brace
    at += 1;
    const from = source.lastIndexOf("{{", close - 2);
    expressions += 1;
    if (expressions > MAX_EXPRESSIONS)
      throw new TemplateError(`more than ${MAX_EXPRESSIONS} expressions in one template; split it or use a transform`);
    if (from > textFrom) parts.push(source.slice(textFrom, from));
    parts.push(expression(source.slice(from + 2, close), from));
    textFrom = at;
  }
  if (textFrom < source.length) parts.push(source.slice(textFrom));
  return parts;
}

/** @throws TemplateError */
function expression(written: string, offset: number): Expression {
  const place = written.trim();
  if (place === "path") return { place, read: ({ path }) => path };
  if (place === "now") return { place, read: ({ now }) => new Date(now).toISOString() };
  const refuse = (why: string): never => {
    throw new TemplateError(`{{${written}}} at character ${offset + 1}: ${why}; ${ALLOWED}`);
  };
  if (place === "") refuse("the braces are empty");
  const [, source = "", name = ""] = /^(headers|query|payload)\.(.*)$/su.exec(place) ?? [];
  if (source === "headers") {
    if (name.includes(".")) refuse("a template cannot name a header with a dot in its name");
    if (!HEADER_NAME.test(name)) refuse(`"${name}" is not a valid header name`);
    return { place, read: ({ headers }) => headerOf(headers, name.toLowerCase()) };
  }
  if (source === "query") {
    if (!QUERY_NAME.test(name)) refuse(`"${name}" is not a valid parameter name`);
    return { place, read: ({ query }) => query.getAll(name).at(-1) };
  }
  const inPayload = parsePlace(source === "payload" ? name : place) ?? refuse("it is not a place in the payload");
  return { place, read: ({ payload }) => readPlace(payload, inPayload) };
}

const ALLOWED =
  "allowed are path, now, headers.<name>, query.<name> and places of the payload like a.b[0].c, or payload.a.b where the first part is one of those words; filters, conditions and names in brackets are not";

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+^_`|~-]+$/;
const QUERY_NAME = /^[^{}()|"'`\\<>=?;\s\p{Cc}]+$/u;

function headerOf(headers: TemplateScope["headers"], name: string): string | undefined {
  return Object.hasOwn(headers, name) && !isPrototypeKey(name) ? headers[name] : undefined;
}

/** Stops as soon as the text is too long, so that a large payload is not rendered many times. */
function renderParts(parts: readonly (string | Expression)[], scope: TemplateScope): string {
  let text = "";
  for (const part of parts) {
    const piece = typeof part === "string" ? part : valueText(part, scope);
    if (text.length + piece.length > MAX_RENDERED) {
      throw new GatewayError(
        "INVALID_REQUEST",
        `a template of this mapping renders this request to more than ${MAX_RENDERED} characters; send less`,
      );
    }
    text += piece;
  }
  return text;
}

function valueText({ place, read }: Expression, scope: TemplateScope): string {
  const value = read(scope);
  if (value === undefined || value === null) {
    scope.missing(place);
    return "";
  }
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? `${value}` : jsonText(place, value);
}

/** A request may be nested too deeply for `JSON.stringify`: parsing needs no stack per level, writing does. */
function jsonText(place: string, value: {}): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new GatewayError("INVALID_REQUEST", `${place} of the payload is nested too deeply to be used as a text`, {
      cause,
    });
  }
}
