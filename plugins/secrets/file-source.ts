/** Secrets in a private file. Spec: http/config.md §6. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Clock } from "@svc/sdk";
import type { SecretProvider, SecretSource } from "@svc/sdk/services";
import { follow, isPointer } from "./json-pointer.ts";
import { codeOf } from "./printable.ts";
import { FileSettings, problemOf, settingsOf } from "./source-settings.ts";

/** Id of the secret in a file of mode `singleValue`. Spec. */
const WHOLE = "value";

export interface FileSourceOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** User the gateway runs as. Default: that of the process; `undefined` where there are none. */
  readonly uid?: number | undefined;
}

export function createFileSource({ clock, uid = process.getuid?.() }: FileSourceOptions): SecretSource {
  return {
    check: (provider) => problemOf(FileSettings, provider),

    checkId(id, provider) {
      if (settingsOf(FileSettings, provider).mode === "singleValue") {
        return id === WHOLE
          ? undefined
          : `the id must be \`${WHOLE}\`: secrets.providers.${provider.name} is a single value`;
      }
      return isPointer(id)
        ? undefined
        : "the id must be a JSON pointer like /keys/main, with ~0 for ~ and ~1 for / in a key";
    },

    async resolve(provider, ids, signal) {
      const { mode, maxBytes, timeoutMs } = settingsOf(FileSettings, provider);
      const read = readPrivate(provider, { maxBytes, uid });
      const text = decode(await within(timeoutMs, { read, clock, signal, provider }), provider);
      const find = mode === "json" ? finderIn(parse(text, provider)) : () => text.replace(/\r?\n$/u, "");
      return new Map(
        ids.flatMap((id) => {
          const value = find(id);
          return typeof value === "string" && value !== "" ? [[id, value] as const] : [];
        }),
      );
    },
  };
}

function finderIn(root: unknown): (id: string) => unknown {
  return (id) => follow(root, id);
}

/**
 * Reads the file, all checks on the open handle: what was checked is what is read.
 * @throws Error saying what is wrong with it and what to do
 */
async function readPrivate(
  provider: SecretProvider,
  { maxBytes, uid }: { readonly maxBytes: number; readonly uid: number | undefined },
): Promise<Buffer> {
  const { path } = settingsOf(FileSettings, provider);
  const handle = await openPlain(path, provider);
  try {
    const { mode, uid: owner, size } = await handle.stat();
    const isFile = (mode & constants.S_IFMT) === constants.S_IFREG;
    if (!isFile) fail(provider, `${path} is no regular file; name a file`);
    if (uid !== undefined && owner !== uid && owner !== 0) {
      fail(provider, `${path} belongs to another user; run: chown ${uid} '${path}'`);
    }
    if (uid !== undefined && (mode & 0o066) !== 0) {
      const octal = (mode & 0o777).toString(8).padStart(4, "0");
      fail(provider, `${path} can be read or written by others (mode ${octal}); run: chmod 600 '${path}'`);
    }
    if (size > maxBytes) fail(provider, tooLarge(path, maxBytes));
    return await readAll(handle, { path, maxBytes, provider });
  } finally {
    await handle.close();
  }
}

/** Never waits for a pipe, never follows a link. */
async function openPlain(path: string, provider: SecretProvider): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return fail(provider, `${path} is not there; put the file there`);
    if (code === "ELOOP") return fail(provider, `${path} is a symbolic link; name the file itself`);
    if (code === "ENXIO") return fail(provider, `${path} is no regular file; name a file`);
    return fail(provider, `${path} cannot be opened (${code}); see to it that the gateway may read it`);
  }
}

interface Reading {
  readonly path: string;
  readonly maxBytes: number;
  readonly provider: SecretProvider;
}

/** The file may grow while it is read: one byte more than allowed is enough to know. */
async function readAll(handle: FileHandle, { path, maxBytes, provider }: Reading): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const buffer = Buffer.alloc(Math.min(64 * 1_024, maxBytes + 1 - size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > maxBytes) fail(provider, tooLarge(path, maxBytes));
  }
}

function tooLarge(path: string, maxBytes: number): string {
  return `${path} has more than ${maxBytes} bytes; raise maxBytes, or keep a smaller file`;
}

/** File systems over a network may hang for ever. */
async function within(
  ms: number,
  {
    read,
    clock,
    signal,
    provider,
  }: {
    readonly read: Promise<Buffer>;
    readonly clock: FileSourceOptions["clock"];
    readonly signal: AbortSignal;
    readonly provider: SecretProvider;
  },
): Promise<Buffer> {
  let cancel = () => {};
  let onAbort = () => {};
  const late = new Promise<never>((_resolve, reject) => {
    const stop = (why: string) => reject(new Error(`secrets.providers.${provider.name}: ${why}`));
    cancel = clock.setTimeout(
      () => stop(`the file was not read within ${ms} ms; see to its disk, or raise timeoutMs`),
      ms,
    );
    onAbort = () => stop("the lookup was stopped");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

function decode(bytes: Buffer, provider: SecretProvider): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return fail(provider, "the file is not text in UTF-8; write it as such");
  }
}

/** The parser's own message would quote the file. */
function parse(text: string, provider: SecretProvider): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return fail(provider, 'the file is not JSON; correct it, or set mode to "singleValue"');
  }
}

function fail(provider: SecretProvider, why: string): never {
  throw new Error(`secrets.providers.${provider.name}: ${why}`);
}
