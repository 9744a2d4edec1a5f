/** Tapbacks: the six reactions of Messages, as emoji. Pure. */

/** By the name of the tapback: the emoji that stands for it, then others that mean nearly the same. */
const TABLE = {
  love: "❤ 😍 🥰 😘 💕 💖 💙 💚 💛 🧡 💜 🖤".split(" "),
  like: "👍 👌 ✅ ✔ 👏 🙏 🙌 💪 🎉 💯".split(" "),
  dislike: "👎 ❌ 😠 😡".split(" "),
  laugh: "😂 🤣 😄 😆 😀 😁 😃 😅".split(" "),
  emphasize: "‼ ❗ ⚠ 🔥 😱 🤯".split(" "),
  question: "❓ ❔ 🤔 🤨".split(" "),
};
const ROWS = Object.entries(TABLE);
/** The emoji that stand for a tapback. */
export const TAPBACKS = ROWS.map(([, emoji]) => emoji[0] ?? "");

/** Name of the tapback that comes nearest to the emoji, whose skin tone is ignored. */
export function tapbackOf(emoji: string): string | undefined {
  const plain = emoji.replace(/[\uFE0E\uFE0F]|\p{Emoji_Modifier}/gu, "");
  return ROWS.find(([, row]) => row.includes(plain))?.[0];
}

export interface Tapback {
  readonly emoji: string;
  readonly isRemoved: boolean;
}

/**
 * @param type `love`, `-love`, or the number in the Messages database: 2000 to 2005, 3000 to 3005 for a removal
 * @param own any emoji, of newer systems: 2006 and 3006
 */
export function tapbackNamed(type: string, own?: string): Tapback | undefined {
  const [, digit, index] = /^([23])00(\d)$/.exec(type) ?? [];
  const name = type.replace(/^-/, "").replace(/^emphasis$/, "emphasize");
  const at = index === undefined ? ROWS.findIndex(([key]) => key === name) : Number(index);
  const emoji = own ?? TAPBACKS[at];
  return emoji === undefined ? undefined : { emoji, isRemoved: digit === "3" || type.startsWith("-") };
}
