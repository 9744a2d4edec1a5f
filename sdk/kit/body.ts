/** Bounded response bodies: `@svc/kit/body`. */

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
