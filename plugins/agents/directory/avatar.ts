/** Images of a workspace as data URLs. */
import { readWithin } from "@svc/kit/files";
import { avatarKind } from "@svc/kit/identity";
import { sniffImage } from "@svc/kit/media";
import { isGatewayError } from "@svc/sdk";

/** Choice: largest image in bytes that a response contains. */
export const MAX_AVATAR_BYTES = 256 * 1024;

/**
 * A URL that a page can display: a URL unchanged, an image of the workspace as a data URL.
 * @returns `undefined` for a text avatar, and for a file that is missing, too large, not a regular file, or not an image by its
 *   bytes. Choice: no SVG, which can contain scripts
 */
export async function avatarUrl(workspace: string, avatar: string | undefined): Promise<string | undefined> {
  const kind = avatarKind(avatar ?? "");
  if (avatar === undefined || kind === "remote" || kind === "data") return avatar;
  if (kind !== "path") return undefined;
  try {
    const file = await readWithin(workspace, avatar.replace(/^\.\//, ""), MAX_AVATAR_BYTES);
    const type = file && !file.isCut ? sniffImage(file.bytes) : undefined;
    return file && type ? `data:${type};base64,${file.bytes.toString("base64")}` : undefined;
  } catch (error) {
    if (isGatewayError(error)) return undefined; // a link, a FIFO, or a path outside the workspace
    throw error;
  }
}
