/** The network of the test: a real server on a free port, with one user, Ada. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { ChannelNetwork } from "@svc/sdk/testing";

export interface LineServer extends ChannelNetwork {
  readonly port: number;
  close(): Promise<void>;
}

export async function startLineServer(): Promise<LineServer> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  let serial = 0;
  let last = "";
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {}); // the connection was cut
    createInterface({ input: socket }).on("line", (line) => heard.push((JSON.parse(line) as { text: string }).text));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const toAll = (line: string) => sockets.forEach((socket) => void socket.write(line));
  const cuts = () => sockets.forEach((socket) => void socket.destroy());
  return {
    port: (server.address() as AddressInfo).port, // a listening TCP server has one
    heard: () => heard,
    says(text) {
      serial += 1;
      last = `${JSON.stringify({ id: String(serial), from: "ada", to: "me", text })}\n`;
      toAll(last);
    },
    repeats: () => toAll(last),
    cuts,
    async close() {
      cuts();
      server.close();
      await once(server, "close");
    },
  };
}
