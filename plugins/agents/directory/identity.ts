/** An agent's identity: reads and writes the lines of `IDENTITY.md`, and builds the identity shown to clients. Pure. */
import type { Identity } from "./directory.ts";

/** Lengths clients accept. Spec: protocol/methods-agent.md §3. */
const MAX_NAME = 50;
const MAX_AVATAR = 200;
const MAX_EMOJI = 16;
/** A text avatar has at most this many characters. Spec: http/control-panel.md §5. */
const MAX_AVATAR_TEXT = 4;

/** Choice: longer lines are ignored as prose. */
const MAX_LINE = 4_096;

const DEFAULT_NAME = "Assistant";
const DEFAULT_AVATAR = "A";

const FIELDS = ["name", "theme", "emoji", "avatar"] as const;
type Field = (typeof FIELDS)[number];

/**
 * Reads fields from lines such as `- **Name:** Ada`. The last line of a field wins, since new lines are appended.
 * Choice: text in brackets is a placeholder, not a value.
 */
export function parseIdentity(text: string): Identity {
  const found: Partial<Record<Field, string>> = {};
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.length > MAX_LINE) continue;
    const [, label = "", rest = ""] = /^[\s>*_-]*([A-Za-z]+)[*_\s]*:(.*)$/.exec(line) ?? [];
    const field = FIELDS.find((name) => name === label.toLowerCase());
    const value = rest.replace(/^[\s*_]+|[\s*_]+$/g, "");
    if (field && value !== "" && !/^[([<].*[)\]>]$/.test(value)) found[field] = value;
  }
  return found;
}

/** Puts a text on one line without control characters, so that a value cannot add lines. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * Appends lines for the fields that `text` does not have with the same value.
 * @returns `undefined` when it has all of them, so that a repeated creation appends nothing twice
 */
export function withIdentity(text: string, identity: Identity): string | undefined {
  const said = parseIdentity(text);
  const lines = FIELDS.flatMap((field) => {
    const value = identity[field];
    if (value === undefined || said[field] === value) return [];
    return [`- ${field.charAt(0).toUpperCase()}${field.slice(1)}: ${value}`];
  });
  if (lines.length === 0) return undefined;
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${gap}${lines.join("\n")}\n`;
}

/** Configured fields; missing ones come from the workspace file. */
export function mergeIdentity(configured: Identity | undefined, file: Identity): Identity {
  const entries = FIELDS.map((field) => [field, configured?.[field]?.trim() || file[field]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Identity; // the keys are FIELDS
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
  /** Name in the agent list. */
  readonly name: string | undefined;
  readonly configured: Identity | undefined;
  readonly file: Identity;
  /** Whether the path is an image that can be shown. */
  readonly hasImage: (path: string) => boolean;
}

/** The result of `agent.identity.get`. Order of sources: http/control-panel.md §5. */
export function presentIdentity({ agentId, name, configured, file, hasImage }: Looks) {
  const emoji = cut(configured?.emoji?.trim() || file.emoji || "", MAX_EMOJI);
  const avatars = [configured?.avatar, configured?.emoji, file.avatar, file.emoji];
  const shown = avatars.map((avatar) => shownAvatar(avatar?.trim() ?? "", agentId, hasImage)).find(Boolean);
  return {
    agentId,
    name: cut(oneLine(configured?.name?.trim() || file.name || name || ""), MAX_NAME).trim() || DEFAULT_NAME,
    avatar: shown ?? DEFAULT_AVATAR,
    ...(emoji === "" ? {} : { emoji }),
  };
}

/** Choice: a URL that is too long is skipped, since a truncated URL would not load. */
function shownAvatar(avatar: string, agentId: string, hasImage: Looks["hasImage"]): string | undefined {
  const kind = avatarKind(avatar);
  if (kind === undefined) return undefined;
  if (kind === "path") return hasImage(avatar) ? `/avatar/${agentId}` : undefined;
  return avatar.length <= MAX_AVATAR ? avatar : undefined;
}
