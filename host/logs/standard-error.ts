/**
 * Writes lines to standard error synchronously, so that a crash loses none, as long as the reader keeps up. For a slow reader the process blocks
 * only for a small share of its time. Otherwise up to 1 MiB of lines is buffered, and further lines are dropped and counted: a pipe that is read
 * slowly, or not at all, does not block the gateway.
 */
import { writeSync } from "node:fs";

/** Maximum size of the buffer. bytes. Choice. */
const MAX_WAITING = 1_048_576;
/** Budget for blocking the process while waiting for the reader: at most this many ms, refilled at this share of elapsed time. Choice. */
const PATIENCE = { most: 100, share: 0.05 };
/** Retry interval for buffered lines. ms */
const AGAIN_MS = 20;
/** Longest wait for the reader at process exit. ms. Choice. */
const EXIT_MS = 500;

const ASLEEP = new Int32Array(new SharedArrayBuffer(4));

/** Instances with buffered lines. */
const waiting = new Set<StandardError>();
process.once("exit", () => {
  for (const one of waiting) one.flush(EXIT_MS);
});

export interface StandardErrorOptions {
  /** Called with the number of dropped lines once the reader has caught up. */
  onLeftOut(lines: number): void;
  /** @returns bytes written. @throws Error `EAGAIN` if the reader is not ready. Default: writes to descriptor 2 */
  readonly put?: (bytes: Buffer) => number;
}

export class StandardError {
  readonly #onLeftOut: (lines: number) => void;
  readonly #put: (bytes: Buffer) => number;
  #lines: Buffer[] = [];
  #bytes = 0;
  #leftOut = 0;
  #patience = { ms: PATIENCE.most, at: performance.now() };

  constructor({ onLeftOut, put = (bytes) => writeSync(2, bytes) }: StandardErrorOptions) {
    this.#onLeftOut = onLeftOut;
    this.#put = put;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#bytes + bytes.length > MAX_WAITING) {
      this.#leftOut += 1;
      return;
    }
    this.#lines.push(bytes);
    this.#bytes += bytes.length;
    if (waiting.has(this) || this.#isWritten()) return;
    const now = performance.now();
    const { ms, at } = this.#patience;
    const patienceMs = Math.min(PATIENCE.most, ms + (now - at) * PATIENCE.share);
    this.flush(patienceMs);
    const after = performance.now();
    this.#patience = { ms: Math.max(0, patienceMs - (after - now)), at: after };
    if (this.#lines.length > 0) this.#later();
  }

  /** Writes the buffered lines; blocks the process meanwhile. @param patienceMs longest wait for a reader that is not ready */
  flush(patienceMs: number): void {
    const end = performance.now() + patienceMs;
    while (!this.#isWritten() && performance.now() < end) Atomics.wait(ASLEEP, 0, 0, 1);
  }

  #later(): void {
    waiting.add(this);
    setTimeout(() => this.#tryAgain(), AGAIN_MS).unref();
  }

  #tryAgain(): void {
    waiting.delete(this);
    if (!this.#isWritten()) this.#later();
    else if (this.#leftOut > 0) {
      const lines = this.#leftOut;
      this.#leftOut = 0;
      this.#onLeftOut(lines);
    }
  }

  /** Writes as much as the reader accepts. @returns whether the buffer is empty */
  #isWritten(): boolean {
    let written = 0;
    for (const line of this.#lines) {
      const count = this.#attempt(line);
      this.#bytes -= count;
      if (count < line.length) {
        this.#lines = [line.subarray(count), ...this.#lines.slice(written + 1)];
        return false;
      }
      written += 1;
    }
    this.#lines = [];
    return true;
  }

  #attempt(line: Buffer): number {
    try {
      return this.#put(line);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException; // of the system
      // A full disk, or a closed pipe: the line is dropped; neither exiting nor waiting would help.
      return code === "EAGAIN" || code === "EBUSY" ? 0 : line.length;
    }
  }
}
