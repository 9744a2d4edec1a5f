/** Response bodies, bounded, and what a failed request says: `@svc/kit/body`. */
import { messageOf } from "@svc/sdk";

/**
 * The whole body of a response.
 * @param refuse throws; called for a body above `maxBytes`, whose rest is not read
 * @throws the refusal; errors of the connection
 */
export async function readBody(
  { body }: Pick<Response, "body">,
  maxBytes: number,
  refuse: () => never,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.byteLength;
    if (size > maxBytes) refuse();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A body as JSON; `undefined`: it is none. */
export function jsonOf(body: Buffer | string): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Why a `fetch` failed, in the words of its cause. They may quote the address. */
export function causeOf(error: unknown): string {
  const cause: unknown = Object(error).cause ?? error;
  return messageOf(cause) || String(Object(cause).code);
}
