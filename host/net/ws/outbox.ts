/**
 * Frames waiting for one socket: written together once per tick, and queued here while the socket accepts no more, so that
 * they can be dropped when their reader is disconnected.
 */
import type { Duplex } from "node:stream";

/** Frames up to this size together are copied into one buffer; more are corked instead. */
const COPY_BELOW_BYTES = 65_536;
/** Bytes that may wait in the socket itself; those can no longer be dropped. */
const SOCKET_BYTES = 262_144;
/** A reader with more unread bytes than this is counted in the backlog. */
const BEHIND_BYTES = 65_536;
/** Choice: maximum number of unread bytes of all readers of a gateway together; five times the limit of one reader. */
export const MAX_BACKLOG_BYTES = 5 * 52_428_800;

/** Outboxes to flush when this tick ends, in one step: a tick per outbox costs more than everything else. */
let waiting: Outbox[] = [];

function flushAll(): void {
  const outboxes = waiting;
  waiting = [];
  for (const outbox of outboxes) outbox.flush();
}

/** The unread bytes of all readers of a gateway. The reader with the most is disconnected first. */
export class Backlog {
  readonly #maxBytes: number;
  readonly #behind = new Set<Outbox>();
  #bytes = 0;

  constructor(maxBytes: number = MAX_BACKLOG_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }
  /** Half of the limit is reached: slow readers no longer get droppable frames. */
  get isHigh(): boolean {
    return this.#bytes > this.#maxBytes / 2;
  }

  /** @param counted bytes counted for `outbox` so far. @param now bytes counted from now on; 0 when it keeps up */
  change(outbox: Outbox, counted: number, now: number): void {
    this.#bytes += now - counted;
    if (now === 0) this.#behind.delete(outbox);
    else this.#behind.add(outbox);
    while (this.#bytes > this.#maxBytes) {
      const largest = [...this.#behind].reduce((most, each) => (each.unread > most.unread ? each : most));
      largest.cutOff();
    }
  }
}

export class Outbox {
  readonly #socket: Duplex;
  readonly #maxBufferedBytes: number;
  readonly #backlog: Backlog;
  readonly #onSlow: () => void;
  #frames: Buffer[] = [];
  #bytes = 0;
  #counted = 0;
  #scheduled = false;
  #draining = false;
  #closed = false;

  /**
   * @param maxBufferedBytes bytes that may wait unsent before the reader counts as slow
   * @param onSlow called once when the reader is disconnected as too slow, for its own backlog or that of all readers
   */
  constructor(socket: Duplex, maxBufferedBytes: number, backlog: Backlog, onSlow: () => void) {
    this.#socket = socket;
    this.#maxBufferedBytes = maxBufferedBytes;
    this.#backlog = backlog;
    this.#onSlow = onSlow;
  }

  /** Bytes not sent yet, here and in the socket. */
  get unread(): number {
    return this.#bytes + this.#socket.writableLength;
  }

  /** Whether the reader is too far behind to be sent more. */
  get isFull(): boolean {
    return this.unread > this.#maxBufferedBytes;
  }
  /** Whether the reader should get no droppable frames. */
  get isBehind(): boolean {
    return this.isFull || (this.#counted > 0 && this.#backlog.isHigh);
  }

  push(frame: Buffer): void {
    if (this.#closed) return;
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#draining) return this.#count();
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (waiting.push(this) === 1) process.nextTick(flushAll);
  }

  /** Writes queued frames as far as the socket accepts them. */
  flush(): void {
    this.#scheduled = false;
    if (this.#closed || this.#draining) return;
    this.#write(SOCKET_BYTES);
    this.#count();
  }

  /** Hands all queued frames to the socket, and accepts no more. */
  end(): void {
    this.#write(Number.POSITIVE_INFINITY);
    this.drop();
  }

  /** Drops all queued frames, and accepts no more. */
  drop(): void {
    this.#closed = true;
    this.#frames = [];
    this.#bytes = 0;
    this.#backlog.change(this, this.#counted, 0);
    this.#counted = 0;
  }

  cutOff(): void {
    this.drop();
    this.#onSlow();
  }

  #write(most: number): void {
    const frames = this.#frames;
    if (frames.length === 0 || !this.#socket.writable) return;
    if (this.#bytes <= COPY_BELOW_BYTES) {
      const [first, second] = frames;
      const joined = second ? Buffer.concat(frames, this.#bytes) : first;
      this.#frames = [];
      this.#bytes = 0;
      this.#socket.write(joined);
    } else {
      let written = 0;
      this.#socket.cork();
      for (const frame of frames) {
        if (this.#socket.writableLength >= most) break;
        this.#socket.write(frame);
        this.#bytes -= frame.length;
        written++;
      }
      this.#socket.uncork();
      this.#frames = frames.slice(written);
    }
    if (this.#socket.writableLength >= most || this.#frames.length > 0) this.#waitForDrain();
  }

  #waitForDrain(): void {
    if (this.#draining || !this.#socket.writableNeedDrain) return;
    this.#draining = true;
    this.#socket.once("drain", () => {
      this.#draining = false;
      this.flush();
    });
  }

  #count(): void {
    const { unread } = this;
    const now = unread > BEHIND_BYTES ? unread : 0;
    if (now === this.#counted) return;
    const before = this.#counted;
    this.#counted = now;
    this.#backlog.change(this, before, now);
  }
}
