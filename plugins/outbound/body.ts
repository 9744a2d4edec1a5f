/** Reads a body that may be compressed; the limit applies before and after decompression. */
import { unavailable } from "@svc/sdk";
import { PassThrough, type Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { refuse } from "./refusal.ts";

/** Value of `Accept-Encoding`. */
export const ENCODINGS = "gzip, br";

/** @throws GatewayError `INVALID_REQUEST` if the declared length exceeds `maxBytes` */
export function checkLength(declared: string | undefined, maxBytes: number, host: string): void {
  if (Number(declared ?? 0) > maxBytes) tooLarge(maxBytes, host);
}

/**
 * @param encoding value of `Content-Encoding`
 * @throws GatewayError `INVALID_REQUEST` with `TOO_LARGE`; `UNAVAILABLE` for an unsupported compression; errors of the stream
 */
export async function readBody(body: Readable, encoding: string, maxBytes: number, host: string): Promise<Uint8Array> {
  const decoder = decoderFor(encoding, host);
  async function* bounded(source: AsyncIterable<Buffer>) {
    let size = 0;
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) tooLarge(maxBytes, host);
      yield chunk;
    }
  }
  async function collect(source: AsyncIterable<Buffer>): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    for await (const chunk of bounded(source)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  return pipeline(body, bounded, decoder, collect);
}

function decoderFor(encoding: string, host: string): Transform {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return new PassThrough();
  if (name === "gzip" || name === "x-gzip") return createGunzip();
  if (name === "br") return createBrotliDecompress();
  return unavailable(`${host} used an unsupported compression (Content-Encoding: ${name.slice(0, 40)})`);
}

function tooLarge(maxBytes: number, host: string): never {
  return refuse("TOO_LARGE", `the response of ${host} is larger than ${maxBytes} bytes`);
}
