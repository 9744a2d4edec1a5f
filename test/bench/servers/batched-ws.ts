/** `ws` for reading, and one write per tick: all answers of a tick are sent as one buffer. The fastest this stack can be. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { answer } from "./answers.ts";
import { announce } from "./control.ts";

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
const server = createServer();

/** An unmasked text frame of 126 to 65,535 bytes, the size of all answers here. */
function frame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes[0] = 0x81;
  bytes[1] = 126;
  bytes.writeUInt16BE(length, 2);
  bytes.write(text, 4);
  return bytes;
}

/** @returns a function that queues a frame; the frames of a tick are written at its end */
function writer(socket: Duplex): (bytes: Buffer) => void {
  let waiting: Buffer[] = [];
  const flush = () => {
    const frames = waiting;
    waiting = [];
    socket.write(frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames));
  };
  return (bytes) => {
    if (waiting.push(bytes) === 1) process.nextTick(flush);
  };
}

server.on("upgrade", (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (client) => {
    const write = writer(socket);
    client.on("error", () => client.terminate());
    client.on("message", (data: Buffer) => write(frame(answer(data.toString(), () => undefined))));
  });
});
server.listen(0, "127.0.0.1", () => announce(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`));
