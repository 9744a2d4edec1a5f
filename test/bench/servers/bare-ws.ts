/**
 * The simplest server of the same stack: `ws`, one send per answer, one send per receiver of an encoded event.
 * At `/challenge` it sends the first frame, as the protocol requires, so that its handshake has as many round trips as the gateway's.
 */
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { answer } from "./answers.ts";
import { announce } from "./control.ts";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });

function publish(event: string): void {
  for (const client of server.clients) client.send(event);
}

const CHALLENGE = JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n", ts: 0 } });

server.on("connection", (client, { url }) => {
  if (url === "/challenge") client.send(CHALLENGE);
  client.on("error", () => client.terminate());
  client.on("message", (data: Buffer) => client.send(answer(data.toString(), publish)));
});
server.on("listening", () => announce(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`));
