/** Names and pictures of the configured agents: the service `AgentIdentities`. Spec: http/control-panel.md §4 and §6. */
import { normalizeId } from "@svc/kit/agent-address";
import { diskRefusal, readWithin, statWithin } from "@svc/kit/files";
import { avatarKind, presentIdentity } from "@svc/kit/identity";
import { contentTypeOf } from "@svc/kit/media";
import { isGatewayError } from "@svc/sdk";
import type { AgentIdentities, AgentImage, IdentityOverride } from "@svc/sdk/agents";
import type { AgentSettings, ConfiguredAgents, Identity } from "./directory.ts";
import { parseIdentity } from "./identity.ts";

/** Choice: bytes of `IDENTITY.md` that are read; the fields are at its beginning. */
const IDENTITY_HEAD_BYTES = 64 * 1024;
/** Largest image in bytes that the control panel serves. Spec: http/control-panel.md §6. */
const MAX_IMAGE_BYTES = 2_097_152;

/** Images that are shown. Spec: http/control-panel.md §6. */
const IMAGE = /\.(?:png|jpe?g|gif|webp|svg)$/i;

/** @param base current base path of the control panel */
export function createIdentities(agents: ConfiguredAgents, base: () => string): AgentIdentities {
  /** The picture that `presentIdentity` shows, unless that is an emoji. */
  async function pictureOf(agentId: string, override: IdentityOverride | undefined): Promise<Picture | undefined> {
    const id = normalizeId(agentId);
    if (!agents.has(id)) return undefined;
    const { workspace, isDefault, identity } = agents.settings(id);
    const own = isDefault ? override?.avatar : undefined;
    const isPath = own !== undefined && avatarKind(own.trim()) === "path"; // a URL or text of `ui.assistant` needs no file
    const avatars = [isPath ? own : undefined, identity?.avatar, (await fileIdentity(workspace)).avatar];
    for (const avatar of avatars) {
      const value = avatar?.trim() ?? "";
      const kind = avatarKind(value);
      if (kind === "text") return undefined;
      if (kind === "remote" || kind === "data") return { id, url: value };
      if (kind === "path" && (await hasImage(workspace, value))) return { id, workspace, path: value };
    }
    return undefined;
  }

  return {
    present: (override) => presentAgent(agents.settings(agents.defaultId), base(), override),
    async avatarUrl(agentId, override) {
      const picture = await pictureOf(agentId, override);
      return picture && (picture.url ?? `${base()}/avatar/${picture.id}`);
    },
    async image(agentId, override) {
      const picture = await pictureOf(agentId, override);
      return picture?.path === undefined ? undefined : readImage(picture.workspace, picture.path);
    },
  };
}

/** Either an address, or a file of a workspace. */
type Picture =
  | { readonly id: string; readonly url: string; readonly path?: undefined }
  | { readonly id: string; readonly url?: undefined; readonly workspace: string; readonly path: string };

/** @param base base path of the control panel, below which pictures are served */
export async function presentAgent(agent: AgentSettings, base: string, override?: IdentityOverride) {
  const { id: agentId, name, identity: configured, workspace } = agent;
  const file = await fileIdentity(workspace);
  const images = await imagesAmong(workspace, [override?.avatar, configured?.avatar, file.avatar]);
  return presentIdentity({ agentId, name, override, configured, file, base, hasImage: (path) => images.has(path) });
}

/** Empty for a missing or unreadable file, so that the list of agents does not depend on it. */
export async function fileIdentity(workspace: string): Promise<Identity> {
  const file = await orNone(workspace, () => readWithin(workspace, "IDENTITY.md", IDENTITY_HEAD_BYTES));
  return parseIdentity(file?.bytes.toString("utf8") ?? "");
}

async function imagesAmong(workspace: string, avatars: readonly (string | undefined)[]): Promise<Set<string>> {
  const paths = avatars.flatMap((avatar) =>
    avatar !== undefined && avatarKind(avatar.trim()) === "path" ? [avatar.trim()] : [],
  );
  const found = await Promise.all(paths.map((path) => hasImage(workspace, path)));
  return new Set(paths.filter((_, index) => found[index]));
}

const nameOf = (path: string) => path.replace(/^\.\//, "");

/** Whether `readImage` returns it, without reading it. */
async function hasImage(workspace: string, path: string): Promise<boolean> {
  if (!IMAGE.test(path)) return false;
  const stats = await orNone(workspace, () => statWithin(workspace, nameOf(path)));
  return stats !== undefined && stats.size <= MAX_IMAGE_BYTES;
}

/** @returns `undefined` for a file that is missing, too large, not a regular file, or of another type */
async function readImage(workspace: string, path: string): Promise<AgentImage | undefined> {
  if (!IMAGE.test(path)) return undefined;
  const file = await orNone(workspace, () => readWithin(workspace, nameOf(path), MAX_IMAGE_BYTES));
  return file && !file.isCut ? { type: contentTypeOf(path), bytes: file.bytes } : undefined;
}

/** A link, a FIFO, a path outside the workspace, or a file that cannot be read counts as absent. */
async function orNone<T>(workspace: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isGatewayError(error) || diskRefusal(error, workspace, { permissions: "UNAVAILABLE" })) return undefined;
    throw error;
  }
}
