import type { IncomingMessage } from "node:http";

/** The JSON or the form of a request; empty: it has no body. */
export async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/")) return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as {});
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  return Object.fromEntries(form.entries());
}
