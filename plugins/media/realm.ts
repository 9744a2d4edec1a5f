/** Makes the process a place for documents. */

/** Call before the library is loaded. */
export function prepareRealm(): void {
  // Where a PDF is inflated natively and at once, 2 MB of it become gigabytes within a blink. Without this, piece by piece.
  Reflect.deleteProperty(globalThis, "DecompressionStream");
  // Nothing a document names is fetched.
  Reflect.deleteProperty(globalThis, "fetch");
  if (!("transferToFixedLength" in ArrayBuffer.prototype)) {
    // oxlint-disable-next-line no-extend-native -- Node.js has it from 21 on, and the library draws no text without it
    Object.defineProperty(ArrayBuffer.prototype, "transferToFixedLength", { value: copyOf });
  }
}

/** Copies where the real one moves: nobody keeps the original. */
function copyOf(this: ArrayBuffer, length: number = this.byteLength): ArrayBuffer {
  const copy = new ArrayBuffer(length);
  new Uint8Array(copy).set(new Uint8Array(this, 0, Math.min(length, this.byteLength)));
  return copy;
}
