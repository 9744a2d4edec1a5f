/** How an agent presents itself to people: the order of its sources, and the limits. Pure. Spec: http/control-panel.md §4. */

/** Lengths clients accept. Spec: protocol/methods-agent.md §3. */
const MAX_NAME = 50;
const MAX_AVATAR = 200;
const MAX_EMOJI = 16;
/** A text avatar has at most this many characters. Spec: http/control-panel.md §4. */
const MAX_AVATAR_TEXT = 4;

const DEFAULT_NAME = "Assistant";
const DEFAULT_AVATAR = "A";

/** Fields of an identity, as configured or as a file of the workspace has them. */
export interface IdentityFields {
  readonly name?: string;
  readonly theme?: string;
  readonly emoji?: string;
  readonly avatar?: string;
}

/** Puts a text on one line without control characters, so that a value cannot add lines. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** The kind of an avatar value; `undefined`: not valid. */
export function avatarKind(avatar: string): "remote" | "data" | "path" | "text" | undefined {
  if (/^https?:\/\/\S+$/i.test(avatar)) return "remote";
  if (/^data:image\/\S+$/i.test(avatar)) return "data";
  if (/^[a-z][a-z0-9+.-]+:/i.test(avatar)) return undefined;
  if (/[/\\]/.test(avatar) || /\.(png|jpe?g|gif|webp|svg)$/i.test(avatar)) return "path";
  return avatar !== "" && !/\s/.test(avatar) && characters(avatar).length <= MAX_AVATAR_TEXT ? "text" : undefined;
}

/** User-perceived characters: a flag or family emoji is one. */
function characters(text: string): readonly string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/** Cuts between user-perceived characters, to at most `length` UTF-16 units. */
function cut(text: string, length: number): string {
  let kept = "";
  for (const character of characters(text)) {
    if (kept.length + character.length > length) break;
    kept += character;
  }
  return kept;
}

/** The sources of an agent's identity. */
export interface Looks {
  readonly agentId: string;
  /** Takes precedence over all others: `ui.assistant`. */
  readonly override?: Pick<IdentityFields, "name" | "avatar"> | undefined;
  /** Name in the agent list. */
  readonly name: string | undefined;
  readonly configured: IdentityFields | undefined;
  readonly file: IdentityFields;
  /** Whether the path is an image that can be shown. */
  readonly hasImage: (path: string) => boolean;
  /** Base path of the control panel, which serves the images. Default: empty. */
  readonly base?: string | undefined;
}

/** Name and picture as clients show them; the same as the result of `agent.identity.get`. */
export function presentIdentity({ agentId, name, override, configured, file, hasImage, base = "" }: Looks) {
  const emoji = cut(configured?.emoji?.trim() || file.emoji || "", MAX_EMOJI);
  const avatars = [override?.avatar, configured?.avatar, configured?.emoji, file.avatar, file.emoji];
  const shown = avatars
    .map((avatar) => shownAvatar(avatar?.trim() ?? "", `${base}/avatar/${agentId}`, hasImage))
    .find(Boolean);
  return {
    agentId,
    name:
      cut(
        oneLine([override?.name, configured?.name, file.name, name].find((text) => text?.trim()) ?? ""),
        MAX_NAME,
      ).trim() || DEFAULT_NAME,
    avatar: shown ?? DEFAULT_AVATAR,
    ...(emoji === "" ? {} : { emoji }),
  };
}

/** Choice: a URL that is too long is skipped, since a truncated URL would not load. */
function shownAvatar(avatar: string, address: string, hasImage: Looks["hasImage"]): string | undefined {
  const kind = avatarKind(avatar);
  if (kind === undefined) return undefined;
  if (kind === "path") return hasImage(avatar) ? address : undefined;
  return avatar.length <= MAX_AVATAR ? avatar : undefined;
}
