/**
 * The simplest relay of a model's answer: a WebSocket request becomes a streamed HTTP request, and each piece of the answer
 * becomes an event. Argument: base URL of the model server.
 */
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { type WebSocket, WebSocketServer } from "ws";
import { announce } from "./control.ts";

const modelServer = new URL(`${process.argv[2]}/chat/completions`);
const agent = new Agent({ keepAlive: true, timeout: 2_000 }); // as in `bare-http-relay.ts`

interface Request {
  readonly id: string;
  readonly params: { readonly message: string; readonly idempotencyKey: string };
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

function relay(client: WebSocket, text: string): void {
  const { id, params } = JSON.parse(text) as Request;
  const runId = params.idempotencyKey;
  client.send(JSON.stringify({ type: "res", id, ok: true, payload: { runId, status: "started" } }));
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: params.message }] });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const question = httpRequest(modelServer, { agent, method: "POST", headers }, (answer) => {
    pass(client, runId, answer);
  });
  question.end(body);
}

function pass(client: WebSocket, runId: string, answer: IncomingMessage): void {
  const event = (stream: string, data: object) =>
    client.send(JSON.stringify({ type: "event", event: "agent", payload: { runId, stream, data } }));
  let whole = "";
  createInterface(answer).on("line", (line) => {
    if (!line.startsWith("data: ")) return;
    if (line === "data: [DONE]") return event("lifecycle", { phase: "end" });
    const delta = (JSON.parse(line.slice(6)) as Chunk).choices[0]?.delta.content;
    if (!delta) return;
    whole += delta;
    event("assistant", { text: whole, delta });
  });
}

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
server.on("connection", (client) => {
  client.on("error", () => client.terminate());
  client.on("message", (data: Buffer) => relay(client, data.toString()));
});
server.on("listening", () => announce(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`));
