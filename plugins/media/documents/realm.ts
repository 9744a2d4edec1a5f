/** Restricts the process before it reads documents. */

/** Call before the library is loaded. */
export function prepareRealm(): void {
  // Inflating natively in one step turns 2 MB of a PDF into gigabytes at once. Without this class, the library inflates in pieces.
  Reflect.deleteProperty(globalThis, "DecompressionStream");
  // Nothing that a document refers to is fetched.
  Reflect.deleteProperty(globalThis, "fetch");
  if (!("transferToFixedLength" in ArrayBuffer.prototype)) {
    // oxlint-disable-next-line no-extend-native -- Node.js has it from 21 on, and the library draws no text without it
    Object.defineProperty(ArrayBuffer.prototype, "transferToFixedLength", { value: copyOf });
  }
}

/** Copies the buffer, where the standard moves it: callers do not use the original again. */
function copyOf(this: ArrayBuffer, length: number = this.byteLength): ArrayBuffer {
  const copy = new ArrayBuffer(length);
  new Uint8Array(copy).set(new Uint8Array(this, 0, Math.min(length, this.byteLength)));
  return copy;
}
