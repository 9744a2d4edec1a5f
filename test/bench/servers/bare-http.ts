/** Bare node:http: reads and parses a body, then answers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { announce } from "./control.ts";

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { text } = JSON.parse(Buffer.concat(chunks).toString()) as { text: string };
    const body = JSON.stringify({ ok: true, length: text.length });
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
