/** Sends raw bytes to the port and reads the response, without a protocol. */
import { connect, type Socket } from "node:net";

/** Milliseconds after which a hanging connection is abandoned. */
const PATIENCE_MS = 3_000;

/**
 * Writes `bytes`, ends, and collects until the other side closes.
 * @param endAfterMs milliseconds until it ends; the end cancels unanswered requests
 */
export function exchange(port: number, bytes: Buffer, endAfterMs = 0): Promise<{ answer: string; hung: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const chunks: Buffer[] = [];
    let hung = false;
    socket.setTimeout(PATIENCE_MS, () => {
      hung = true;
      socket.destroy();
    });
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined); // a reset is also a response
    let cancel = () => {};
    socket.on("close", () => {
      cancel();
      resolve({ answer: Buffer.concat(chunks).toString("latin1"), hung });
    });
    socket.on("connect", () => {
      if (endAfterMs === 0) return void socket.end(bytes);
      socket.write(bytes);
      const timer = setTimeout(() => socket.end(), endAfterMs);
      cancel = () => clearTimeout(timer);
    });
  });
}

/** An open connection that stores the received bytes. */
export interface Wire {
  readonly socket: Socket;
  readonly isOpen: boolean;
  text(): string;
  until(mark: string): Promise<boolean>;
}

export function openWire(port: number): Wire {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  let isOpen = true;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const look of waiting) look();
  };
  socket.on("data", (chunk) => {
    text = (text + chunk.toString("latin1")).slice(-65_536);
    wake();
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    isOpen = false;
    wake();
  });
  return {
    socket,
    get isOpen() {
      return isOpen;
    },
    text: () => text,
    until: (mark) =>
      new Promise((resolve) => {
        const late = setTimeout(() => finish(false), PATIENCE_MS);
        const finish = (found: boolean) => {
          clearTimeout(late);
          waiting.delete(look);
          resolve(found);
        };
        const look = () => {
          if (text.includes(mark)) finish(true);
          else if (!isOpen) finish(false);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Runs `work` for every item with limited concurrency. */
export async function inParallel<T>(
  items: readonly T[],
  atATime: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const item = items[next++];
      if (item !== undefined) await work(item);
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
}
