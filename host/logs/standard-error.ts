/**
 * Lines on standard error. Each is written at once, so that a crash loses none, as long as their reader keeps up: it is waited for as long as
 * that costs the gateway little. Else the lines wait, up to 1 MiB, and further ones are left out and counted: a pipe that is read slowly, or
 * not at all, holds nobody up.
 */
import { writeSync } from "node:fs";

/** Bytes that wait. Choice. */
const MAX_WAITING = 1_048_576;
/** Milliseconds in which the whole process may wait for the reader, and the share of time in which they come back. Choice. */
const PATIENCE = { most: 100, share: 0.05 };
/** Milliseconds until lines that wait are tried again. */
const AGAIN_MS = 20;
/** Milliseconds that the end of the process waits for a reader. Choice. */
const EXIT_MS = 500;

const ASLEEP = new Int32Array(new SharedArrayBuffer(4));

/** Those with lines that wait. */
const waiting = new Set<StandardError>();
process.once("exit", () => {
  for (const one of waiting) one.flush(EXIT_MS);
});

export interface StandardErrorOptions {
  /** Lines were left out, and the reader is back. */
  onLeftOut(lines: number): void;
  /** @returns bytes written. @throws Error with `EAGAIN` when the reader is not ready. Default: to descriptor 2 */
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

  /** Writes what waits, and stands still meanwhile. @param patienceMs for a reader that is not ready */
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

  /** Writes as much as the reader takes. @returns whether that is all */
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
      // On a full disk, or read by nobody any more: no reason to end, and none to wait.
      return code === "EAGAIN" || code === "EBUSY" ? 0 : line.length;
    }
  }
}
