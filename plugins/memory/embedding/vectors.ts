/** Vectors as bytes, and their similarity. Pure. */

/** Normalises to length 1, so that the dot product is the cosine. @returns `undefined` for a zero or infinite vector */
export function unit(values: readonly number[]): Float32Array | undefined {
  let square = 0;
  for (const value of values) square += value * value;
  const length = Math.sqrt(square);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return Float32Array.from(values, (value) => value / length);
}

export function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

export function fromBytes(bytes: Uint8Array): Float32Array {
  const isAligned = bytes.byteOffset % 4 === 0;
  const aligned = isAligned ? bytes : Uint8Array.from(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}

/** Cosine of two vectors of length 1; 0 for two of different dimensions. */
export function cosine(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0;
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}
