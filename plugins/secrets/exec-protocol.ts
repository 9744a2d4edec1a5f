/** What is written to a program that looks secrets up, and what it answers. Spec: http/config.md §6. Pure. */

const VERSION = 1;

/** One line of JSON for its standard input. */
export function question(provider: string, ids: readonly string[]): string {
  return `${JSON.stringify({ protocolVersion: VERSION, provider, ids })}\n`;
}

/**
 * The secrets in an answer; an id that has none, or something else than a text, is left out.
 * Choice: what the program says of single ids (`errors`) is not passed on: it may quote a secret.
 * @param jsonOnly false: an answer that is not of the protocol is the secret of the one id that was asked for, without
 *   the line break at its end
 * @throws Error saying what is wrong with the answer, never quoting it
 */
export function readAnswer(
  bytes: Uint8Array,
  ids: readonly string[],
  { jsonOnly }: { readonly jsonOnly: boolean },
): ReadonlyMap<string, string> {
  const text = decode(bytes);
  const answer = parse(text);
  if (!isAnswer(answer)) {
    const [id, ...more] = ids;
    if (jsonOnly || id === undefined) throw new Error(`it must print ${SHAPE}; run it by hand to see what it prints`);
    if (more.length > 0) throw new Error(`it prints plain text, which answers one id only; let it print ${SHAPE}`);
    return texts([[id, text.replace(/\r?\n$/u, "")]]);
  }
  if (answer["protocolVersion"] !== VERSION) throw new Error(`it must print "protocolVersion":${VERSION}`);
  const { values } = answer;
  if (!isObject(values)) throw new Error(`its "values" must be an object of texts by id`);
  return texts(ids.map((id) => [id, Object.hasOwn(values, id) ? values[id] : undefined]));
}

const SHAPE = '{"protocolVersion":1,"values":{...}}';

function texts(entries: readonly (readonly [string, unknown])[]): ReadonlyMap<string, string> {
  return new Map(
    entries.flatMap(([id, value]) => (typeof value === "string" && value !== "" ? [[id, value] as const] : [])),
  );
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it must print text in UTF-8");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Other JSON may be a secret itself, e.g. a number or the key of a service account. */
function isAnswer(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.hasOwn(value, "protocolVersion");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
