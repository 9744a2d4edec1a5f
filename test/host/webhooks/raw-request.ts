/** Raw requests that no client library sends. */
import { connect, type Socket } from "node:net";

/** Writes the pieces with a pause between them, and collects until the other side closes or no more bytes arrive. */
export function sendRaw(
  port: number,
  pieces: readonly (string | Buffer)[],
  { end = false, patienceMs = 10_000 }: { end?: boolean; patienceMs?: number } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, "127.0.0.1");
    let text = "";
    const rest = [...pieces];
    const write = () => {
      const piece = rest.shift();
      if (piece === undefined || socket.destroyed) return void (end && socket.end());
      socket.write(piece, () => setTimeout(write, 5));
    };
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => undefined); // a reset counts as an answer, too
    socket.on("close", () => resolve(text));
    socket.on("connect", write);
  });
}

/** Statuses of the answers in `text`, interim ones included. */
export function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
