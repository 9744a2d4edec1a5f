/** How an agent presents itself: `IDENTITY.md` read and written as lines, and what clients are shown. Pure. */
import type { Identity } from "./directory.ts";

/** Lengths clients accept. Spec: protocol/methods-agent.md §3. */
const MAX_NAME = 50;
const MAX_AVATAR = 200;
const MAX_EMOJI = 16;
/** A text avatar has at most this many characters. Spec: http/control-panel.md §5. */
const MAX_AVATAR_TEXT = 4;

/** Choice: longer lines are prose. */
const MAX_LINE = 4_096;

const DEFAULT_NAME = "Assistant";
const DEFAULT_AVATAR = "A";

const FIELDS = ["name", "theme", "emoji", "avatar"] as const;
type Field = (typeof FIELDS)[number];

/**
 * The fields of lines such as `- **Name:** Ada`; the last line of a field counts, as lines are appended.
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

/** On one line, without control characters: a value must not bring lines of its own. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * `text` with lines for the fields it does not say already.
 * @returns `undefined` when it says all of them, so that a repeated creation appends nothing twice
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

/** Fields of the configuration, gaps filled from the workspace file. */
export function mergeIdentity(configured: Identity | undefined, file: Identity): Identity {
  const entries = FIELDS.map((field) => [field, configured?.[field]?.trim() || file[field]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Identity; // the keys are FIELDS
}

/** What an avatar text stands for. */
export function avatarKind(avatar: string): "remote" | "data" | "path" | "text" | undefined {
  if (/^https?:\/\/\S+$/i.test(avatar)) return "remote";
  if (/^data:image\/\S+$/i.test(avatar)) return "data";
  if (/^[a-z][a-z0-9+.-]+:/i.test(avatar)) return undefined;
  if (/[/\\]/.test(avatar) || /\.(png|jpe?g|gif|webp|svg)$/i.test(avatar)) return "path";
  return avatar !== "" && !/\s/.test(avatar) && characters(avatar).length <= MAX_AVATAR_TEXT ? "text" : undefined;
}

/** As people count them: a flag or a family is one. */
function characters(text: string): readonly string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/** Cut between characters, to at most `length` UTF-16 units. */
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
  /** Its name on the list. */
  readonly name: string | undefined;
  readonly configured: Identity | undefined;
  readonly file: Identity;
  /** Whether a path leads to an image that can be shown. */
  readonly hasImage: (path: string) => boolean;
}

/** The answer of `agent.identity.get`. Order of sources: http/control-panel.md §5. */
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

/** Choice: a URL that is too long is skipped, since half of one shows nothing. */
function shownAvatar(avatar: string, agentId: string, hasImage: Looks["hasImage"]): string | undefined {
  const kind = avatarKind(avatar);
  if (kind === undefined) return undefined;
  if (kind === "path") return hasImage(avatar) ? `/avatar/${agentId}` : undefined;
  return avatar.length <= MAX_AVATAR ? avatar : undefined;
}
