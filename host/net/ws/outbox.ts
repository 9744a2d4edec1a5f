/** Frames waiting for one socket: written together once a tick, bounded by what a slow reader may leave unread. */
import type { Duplex } from "node:stream";

/** Several small frames become one buffer; larger ones are corked instead of copied. */
const COPY_BELOW_BYTES = 65_536;

/** Those with something to write when this tick ends. One step for all: a tick of its own for each costs more than the rest. */
let waiting: Outbox[] = [];

function flushAll(): void {
  const outboxes = waiting;
  waiting = [];
  for (const outbox of outboxes) outbox.flush();
}

export class Outbox {
  readonly #socket: Duplex;
  readonly #maxBufferedBytes: number;
  #frames: Buffer[] = [];
  #bytes = 0;
  #scheduled = false;

  /** @param maxBufferedBytes bytes that may wait unsent before the reader counts as slow */
  constructor(socket: Duplex, maxBufferedBytes: number) {
    this.#socket = socket;
    this.#maxBufferedBytes = maxBufferedBytes;
  }

  /** Whether the reader is too far behind to be sent more. */
  get isFull(): boolean {
    return this.#bytes + this.#socket.writableLength > this.#maxBufferedBytes;
  }

  push(frame: Buffer): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (waiting.push(this) === 1) process.nextTick(flushAll);
  }

  /** Writes what waits, now. Does nothing on a closed socket. */
  flush(): void {
    this.#scheduled = false;
    const frames = this.#frames;
    const bytes = this.#bytes;
    this.#frames = [];
    this.#bytes = 0;
    const [only] = frames;
    if (only === undefined || !this.#socket.writable) return;
    if (frames.length === 1) {
      this.#socket.write(only);
    } else if (bytes <= COPY_BELOW_BYTES) {
      this.#socket.write(Buffer.concat(frames, bytes));
    } else {
      this.#socket.cork();
      for (const frame of frames) this.#socket.write(frame);
      this.#socket.uncork();
    }
  }
}
