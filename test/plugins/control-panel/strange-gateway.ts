/** A server that could be a gateway of somebody else. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { WebSocketServer } from "ws";

/** @param error refuses every client. Default: clients get a challenge and no answer. @returns its address, and what it got */
export async function strangeGateway(
  t: TestContext,
  error?: object,
): Promise<{ readonly url: string; readonly got: string[] }> {
  const got: string[] = [];
  const server = createServer((request, response) => {
    got.push(`${request.method} ${request.url}`);
    response.end();
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => {
    got.push("connection");
    socket.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n", ts: Date.now() } }));
    socket.on("message", (data: Buffer) => {
      got.push(data.toString());
      if (!error) return;
      socket.send(JSON.stringify({ type: "res", id: "connect", ok: false, error }));
      socket.close(1008, "refused");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}
