/** Request to and response of a program that looks up secrets. Spec: http/config.md §6. Pure. */

const VERSION = 1;

/** The request: one line of JSON for the standard input of the program. */
export function question(provider: string, ids: readonly string[]): string {
  return `${JSON.stringify({ protocolVersion: VERSION, provider, ids })}\n`;
}

/**
 * The secrets in a response, by id; an id without a value, or whose value is not a string, is left out.
 * Choice: the program's errors for single ids (`errors`) are not passed on, because they may quote a secret.
 * @param jsonOnly false: output in another format is the secret of the single requested id, without its final line break
 * @throws Error with the fault of the response, never quoting it
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
    if (more.length > 0) throw new Error(`it printed plain text, which answers one id only; make it print ${SHAPE}`);
    return texts([[id, text.replace(/\r?\n$/u, "")]]);
  }
  if (answer["protocolVersion"] !== VERSION) throw new Error(`it must print "protocolVersion":${VERSION}`);
  const { values } = answer;
  if (!isObject(values)) throw new Error(`its "values" must be an object of strings by id`);
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

/** Any other JSON may itself be a secret, e.g. a number or the key file of a service account. */
function isAnswer(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.hasOwn(value, "protocolVersion");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
