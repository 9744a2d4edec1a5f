/** Reads JSON of a server that may be hostile. */
import { readBody } from "@svc/kit/body";
import { unavailable } from "@svc/sdk";

/**
 * @param source address for the error messages
 * @throws GatewayError `UNAVAILABLE` for a body above `maxBytes` or one that is not JSON; errors of the connection
 */
export async function boundedJson(
  response: Pick<Response, "body">,
  maxBytes: number,
  source: string,
): Promise<unknown> {
  const body = await readBody(response, maxBytes, () =>
    unavailable(`${source} sent more than ${maxBytes} bytes; is it a model server?`),
  );
  try {
    return JSON.parse(body.toString());
  } catch {
    return unavailable(`${source} sent a response that is not JSON; is it a model server?`);
  }
}

/** A field of parsed JSON of any shape. */
export function fieldOf(value: unknown, key: string): unknown {
  return (Object(value) as Readonly<Record<string, unknown>>)[key]; // `Object` accepts any value
}

/** The entries of an array in parsed JSON, at most `max`; empty for anything else. */
export function entriesIn(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}

/** Choice: maximum characters of the id of a model. */
const MAX_ID_CHARS = 200;

/** An id that can be written in a reference and in a line of text; `undefined` for anything else. */
export function modelId(value: unknown): string | undefined {
  const isUsable = typeof value === "string" && value.length <= MAX_ID_CHARS && /^[^\s\p{C}]+$/u.test(value);
  return isUsable ? value : undefined;
}

/** A positive number of tokens; `undefined` for anything else. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
