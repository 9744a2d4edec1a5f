/** The simplest relay of a model's answer over HTTP: reads each piece and writes it again. Argument: base URL of the model server. */
import { Agent, createServer, request as httpRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { announce } from "./control.ts";

const modelServer = new URL(`${process.argv[2]}/chat/completions`);
// below the 5 s after which the model server closes an idle connection: one in the middle of its end would fail a question
const agent = new Agent({ keepAlive: true, timeout: 2_000 });

function relay(body: string, response: ServerResponse): void {
  const { messages } = JSON.parse(body) as { readonly messages: unknown };
  const asked = JSON.stringify({ model: "m", stream: true, messages });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(asked) };
  const question = httpRequest(modelServer, { agent, method: "POST", headers }, (answer) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const lines = createInterface(answer);
    lines.on("line", (line) => {
      if (line.startsWith("data: {")) response.write(`data: ${JSON.stringify(JSON.parse(line.slice(6)))}\n\n`);
    });
    lines.on("close", () => response.end("data: [DONE]\n\n"));
  });
  question.end(asked);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => relay(Buffer.concat(chunks).toString(), response));
});
server.listen(0, "127.0.0.1", () => announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
