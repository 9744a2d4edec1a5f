/** The files of the pages: regular files below the root, without links and hidden names. */
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { directoryWithin, readWithin } from "@svc/kit/files";
import { contentTypeOf } from "@svc/kit/media";
import { GatewayError, isGatewayError, notFound } from "@svc/sdk";
import { createFile } from "@svc/sdk/files";
import { FIRST_PAGE } from "./pages.ts";

/** Choice: maximum bytes of a file, which is read as a whole. */
const MAX_BYTES = 16 * 1_024 * 1_024;

export interface PageFile {
  readonly bytes: Buffer;
  readonly type: string;
}

/** Directory of the pages. @param setting `canvasHost.root` */
export function rootOf(setting: string | undefined, stateDir: string): string {
  if (setting === undefined) return join(stateDir, "canvas");
  return setting.startsWith("~/") ? join(process.env["SVC_HOME"]?.trim() || homedir(), setting.slice(2)) : setting;
}

/** Creates the default directory with a first page; an existing file is never changed. */
export async function seedRoot(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  await createFile(join(root, "index.html"), FIRST_PAGE);
}

/**
 * @param name path below the root; begins with `/`, or is empty
 * @returns the file, or `directory`: the address must end in a slash
 * @throws GatewayError `NOT_FOUND`; `PAYLOAD_TOO_LARGE`
 */
export async function readPage(root: string, name: string): Promise<PageFile | "directory"> {
  if (name === "") return "directory";
  const path = name.slice(1);
  const steps = path.split("/");
  if (steps.some((step) => step.startsWith("."))) return missing(name);
  try {
    const file = path === "" || path.endsWith("/") ? `${path}index.html` : path;
    if (file === path && (await isDirectory(root, path))) return "directory";
    const read = await readWithin(root, file, MAX_BYTES);
    if (!read) return missing(name);
    if (read.isCut) throw new GatewayError("PAYLOAD_TOO_LARGE", `a page file may have at most ${MAX_BYTES} bytes`);
    return { bytes: read.bytes, type: contentTypeOf(file) };
  } catch (error) {
    if (isGatewayError(error) && error.code === "INVALID_REQUEST") return missing(name); // a link, a pipe, a directory
    throw error;
  }
}

async function isDirectory(root: string, path: string): Promise<boolean> {
  try {
    return (await directoryWithin(root, path)) !== undefined;
  } catch (error) {
    if (isGatewayError(error)) return false; // a file
    throw error;
  }
}

function missing(name: string): never {
  return notFound(`no page file is served as ${JSON.stringify(name.slice(0, 200))}`);
}
