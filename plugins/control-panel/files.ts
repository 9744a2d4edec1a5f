/** The files of the page: regular files that lie inside the root, even if links are resolved. Spec: http/control-panel.md §3. */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { hasCode, readWithin } from "@svc/kit/files";
import { contentTypeOf } from "@svc/kit/media";
import { isGatewayError } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";

/** Choice: largest file in bytes that is served. */
const MAX_BYTES = 16 * 1_024 * 1_024;

/** Spec: §3 names another type for scripts than the usual one. */
export function typeOf(name: string): string {
  return contentTypeOf(name).replace("text/javascript", "application/javascript");
}

/** Directory of the files. */
export interface Root {
  readonly directory: string;
  /** It comes with this plugin. */
  readonly isBundled: boolean;
}

/** Resolved once: every request asks for it. */
let bundled: string | undefined;

/** @param setting `gateway.controlUi.root`; a relative path starts in the state directory, as those of agents do */
export function rootOf(setting: string | undefined, stateDir: string): Root {
  if (setting === undefined) return { directory: (bundled ??= bundledRoot()), isBundled: true };
  const home = process.env["SVC_HOME"]?.trim() || homedir();
  const path = setting.replace(/^~(?=\/|$)/, () => home);
  return { directory: resolve(stateDir, path), isBundled: false };
}

/** In the package of this plugin, wherever its code runs from; beside the code if it was bundled into another package. */
function bundledRoot(): string {
  try {
    const require = createRequire(import.meta.url);
    return join(dirname(require.resolve("@svc/plugin-control-panel/package.json")), "dist/ui");
  } catch {
    return join(import.meta.dirname, "ui");
  }
}

/** A file that was found, not read yet. */
export interface Found {
  /** Root with links resolved. */
  readonly root: string;
  /** Path below it, free of links when it was found. */
  readonly name: string;
  readonly stats: Stats;
}

/**
 * The regular file under a name below the root.
 * @param name relative, without `..`
 * @returns `undefined`: there is none; `refused`: it is outside the root, unreadable or too large
 */
export async function find({ directory }: Root, name: string): Promise<Found | "refused" | undefined> {
  try {
    const root = await realpath(directory);
    const path = await realpath(join(root, name));
    if (!isInside(root, path)) return "refused";
    const stats = await lstat(path);
    if (!stats.isFile()) return undefined;
    return stats.size > MAX_BYTES ? "refused" : { root, name: relative(root, path).split(sep).join("/"), stats };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return undefined;
    if (hasCode(error, "EACCES", "EPERM", "ELOOP")) return "refused";
    throw error;
  }
}

/**
 * Choice: the compressed file beside it, if there is one. That of a configured root must not be older than the file,
 * since people edit files there.
 */
export async function findCompressed(root: Root, name: string, plain: Found): Promise<Found | undefined> {
  const found = await find(root, `${name}.br`);
  if (found === undefined || found === "refused") return undefined;
  return root.isBundled || found.stats.mtimeMs >= plain.stats.mtimeMs ? found : undefined;
}

/** Reads a file that was found. @returns `undefined` if its name leads elsewhere now */
export async function read({ root, name }: Found): Promise<Buffer | undefined> {
  try {
    const file = await readWithin(root, name, { head: MAX_BYTES, hardLinks: true });
    return file && !file.isCut ? file.bytes : undefined;
  } catch (error) {
    if (isGatewayError(error) || hasCode(error, "EACCES", "EPERM")) return undefined; // replaced by a link or a pipe
    throw error;
  }
}

/** Strong ETag of a content. */
export function etagOf(bytes: Uint8Array | string): string {
  return `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;
}

/** Whether the client has this content. @param header `If-None-Match` */
export function isKnownTo(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === "*" || header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** A value for each state of a file, so that an unchanged file is neither read nor hashed again. */
export class PerFile<T> {
  readonly #values = new Map<string, T>();
  readonly #max: number;

  /** @param max number of values that are kept */
  constructor(max: number) {
    this.#max = max;
  }

  static keyOf({ root, name, stats: { size, mtimeMs, ctimeMs, ino } }: Found, more = ""): string {
    return [join(root, name), size, mtimeMs, ctimeMs, ino, more].join("\n");
  }

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  keep(key: string, value: T): void {
    const [oldest] = this.#values.keys();
    if (this.#values.size >= this.#max && oldest !== undefined) this.#values.delete(oldest);
    this.#values.set(key, value);
  }
}
