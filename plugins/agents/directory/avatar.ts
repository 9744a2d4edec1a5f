/** Images of a workspace as data URLs. */
import { readWithin } from "@svc/kit/files";
import { isGatewayError } from "@svc/sdk";
import { avatarKind } from "./identity.ts";

/** Choice: largest image in bytes that a response contains. */
export const MAX_AVATAR_BYTES = 256 * 1024;

/** Detects the type of an image from its first bytes, since a file name proves nothing. Choice: no SVG, which can contain scripts. */
export function imageType(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 8).equals(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))) return "image/png";
  if (bytes.subarray(0, 3).equals(Buffer.from("\xff\xd8\xff", "latin1"))) return "image/jpeg";
  const start = bytes.toString("latin1", 0, 12);
  if (/^GIF8[79]a/.test(start)) return "image/gif";
  return /^RIFF[^]{4}WEBP/.test(start) ? "image/webp" : undefined;
}

/**
 * A URL that a page can display: a URL unchanged, an image of the workspace as a data URL.
 * @returns `undefined` for a text avatar, and for a file that is missing, too large, not an image or not a regular file
 */
export async function avatarUrl(workspace: string, avatar: string | undefined): Promise<string | undefined> {
  const kind = avatarKind(avatar ?? "");
  if (avatar === undefined || kind === "remote" || kind === "data") return avatar;
  if (kind !== "path") return undefined;
  try {
    const file = await readWithin(workspace, avatar.replace(/^\.\//, ""), MAX_AVATAR_BYTES);
    const type = file && !file.isCut ? imageType(file.bytes) : undefined;
    return file && type ? `data:${type};base64,${file.bytes.toString("base64")}` : undefined;
  } catch (error) {
    if (isGatewayError(error)) return undefined; // a link, a FIFO, or a path outside the workspace
    throw error;
  }
}
