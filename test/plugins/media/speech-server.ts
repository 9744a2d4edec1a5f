/** A transcription server on 127.0.0.1 that records uploads and answers as a test says. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** What the server got. */
export interface Upload {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly fields: Readonly<Record<string, string>>;
  readonly file: { readonly name: string; readonly type: string; readonly bytes: Buffer };
}

type Answer = (response: ServerResponse, upload: Upload) => void;

export const json =
  (value: unknown, status = 200): Answer =>
  (response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

/** @param answers one for each request; the last one repeats */
export async function speechServer(t: TestContext, ...answers: readonly Answer[]) {
  const uploads: Upload[] = [];
  const server = createServer((request, response) => {
    void uploadOf(request).then((upload) => {
      uploads.push(upload);
      (answers[uploads.length - 1] ?? answers.at(-1) ?? json({ text: "hello" }))(response, upload);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, uploads };
}

async function uploadOf(request: IncomingMessage): Promise<Upload> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const headers = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(Buffer.concat(parts), { headers }).formData();
  const fields: Record<string, string> = {};
  let file = { name: "", type: "", bytes: Buffer.alloc(0) };
  for (const [name, value] of form) {
    if (typeof value === "string") fields[name] = value;
    else file = { name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return { path: request.url ?? "", headers: request.headers, fields, file };
}
