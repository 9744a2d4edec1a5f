/** Where the bytes of shared files are: one object for each version of a file, in a directory or a bucket. */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { causeOf, readBody } from "@svc/kit/body";
import { trimmedAddress } from "@svc/kit/channels";
import { hasCode } from "@svc/kit/files";
import { withDeadline } from "@svc/kit/time";
import { type Clock, invalidRequest, isGatewayError, lazy, unavailable } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import { type Bucket, BUCKET_DEFAULTS } from "./config.ts";

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Objects are written once and never changed. */
export interface Objects {
  /** For people. */
  readonly place: string;
  /** Where they are on this machine. Absent: elsewhere. */
  readonly directory?: string;
  /** @throws GatewayError `UNAVAILABLE` */
  put(name: string, bytes: Buffer, signal: AbortSignal): Promise<void>;
  /** `undefined`: there is none, or it is larger. @throws GatewayError `UNAVAILABLE` */
  get(name: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Does nothing if there is none. @throws GatewayError `UNAVAILABLE` */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

/** @param directory absolute */
export function objectsInDirectory(directory: string): Objects {
  const at = (name: string) => join(directory, name);
  const away = (error: unknown) => unavailable(`the directory of shared files cannot be used: ${causeOf(error)}`);
  return {
    place: directory,
    directory,
    async put(name, bytes) {
      try {
        await mkdir(dirname(at(name)), { recursive: true, mode: 0o700 });
        await replaceFile(at(name), bytes);
      } catch (error) {
        away(error);
      }
    },
    async get(name, maxBytes) {
      try {
        return (await stat(at(name))).size > maxBytes ? undefined : await readFile(at(name));
      } catch (error) {
        return hasCode(error, "ENOENT") ? undefined : away(error);
      }
    },
    remove: (name) => rm(at(name), { force: true }).catch(away),
  };
}

const library = lazy(() => import("aws4fetch"));
/** Choice: milliseconds for one request, and for each megabyte of its body. */
const [REQUEST_MS, MEGABYTE_MS] = [10_000, 1_000];
const MAX_ERROR_BYTES = 10_000;

export function objectsInBucket(bucket: Bucket, clock: Pick<Clock, "setTimeout">): Objects {
  const { url, region, accessKeyId, secretAccessKey, prefix } = { ...BUCKET_DEFAULTS, ...bucket };
  const signer = lazy(async () => {
    const { AwsClient } = await library();
    return new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: 0 });
  });

  async function ask<T>(
    method: string,
    name: string,
    { bytes, maxBytes = 0, signal }: { bytes?: Buffer; maxBytes?: number; signal: AbortSignal },
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const path = `${prefix}${name}`.split("/").map(encodeURIComponent).join("/");
    const size = Math.max(bytes?.byteLength ?? 0, maxBytes);
    const deadline = {
      ms: REQUEST_MS + (size / 1_000_000) * MEGABYTE_MS,
      clock,
      signals: [signal],
      late: () => "the bucket of shared files did not answer in time",
    };
    return withDeadline(deadline, async (ending) => {
      try {
        const request = await (
          await signer()
        ).sign(`${trimmedAddress(url)}/${path}`, {
          method,
          ...(bytes && { body: bytes, headers: { "x-amz-content-sha256": sha256(bytes) } }),
        });
        const response = await fetch(request, { signal: ending, redirect: "error" });
        if (response.ok || (response.status === 404 && method !== "PUT")) return await read(response);
        return unavailable(`the bucket of shared files refuses: ${await refusalOf(response)}`);
      } catch (error) {
        if (isGatewayError(error)) throw error;
        return unavailable(`the bucket of shared files cannot be reached: ${causeOf(error)}`);
      }
    });
  }

  const done = async ({ body }: Response): Promise<void> => body?.cancel();
  return {
    place: trimmedAddress(url),
    put: (name, bytes, signal) => ask("PUT", name, { bytes, signal }, done),
    get: (name, maxBytes, signal) =>
      ask("GET", name, { maxBytes, signal }, async (response) => {
        const tooLarge = new Error("the object is larger than its file was");
        const refuse = () => {
          throw tooLarge;
        };
        if (response.status !== 404)
          return readBody(response, maxBytes, refuse).catch((error: unknown) => {
            if (error !== tooLarge) throw error;
            return undefined;
          });
        await response.body?.cancel();
        return undefined;
      }),
    remove: (name, signal) => ask("DELETE", name, { signal }, done),
  };
}

/** The status, and the code of the error that the store names. */
async function refusalOf(response: Response): Promise<string> {
  const cut = () => invalidRequest("too long");
  const text = await readBody(response, MAX_ERROR_BYTES, cut).then(String, () => "");
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1];
  return [`status ${response.status}`, ...(code === undefined ? [] : [code])].join(", ");
}
