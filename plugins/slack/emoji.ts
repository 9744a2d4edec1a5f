/** Emoji and their names on Slack: the 60 most used ones. Pure. */

/** By name, without variation selectors. */
const EMOJI: Readonly<Record<string, string>> = {
  "+1": "👍",
  "-1": "👎",
  heart: "❤",
  joy: "😂",
  rolling_on_the_floor_laughing: "🤣",
  smile: "😄",
  grinning: "😀",
  slightly_smiling_face: "🙂",
  blush: "😊",
  heart_eyes: "😍",
  smiling_face_with_3_hearts: "🥰",
  kissing_heart: "😘",
  wink: "😉",
  sunglasses: "😎",
  star_struck: "🤩",
  partying_face: "🥳",
  thinking_face: "🤔",
  face_with_raised_eyebrow: "🤨",
  neutral_face: "😐",
  rolling_eyes: "🙄",
  sweat_smile: "😅",
  cry: "😢",
  sob: "😭",
  scream: "😱",
  exploding_head: "🤯",
  angry: "😠",
  tired_face: "😫",
  sleeping: "😴",
  pleading_face: "🥺",
  hugging_face: "🤗",
  saluting_face: "🫡",
  melting_face: "🫠",
  clown_face: "🤡",
  ghost: "👻",
  robot_face: "🤖",
  clap: "👏",
  pray: "🙏",
  raised_hands: "🙌",
  wave: "👋",
  ok_hand: "👌",
  muscle: "💪",
  handshake: "🤝",
  point_up: "☝",
  point_right: "👉",
  crossed_fingers: "🤞",
  eyes: "👀",
  brain: "🧠",
  fire: "🔥",
  sparkles: "✨",
  star: "⭐",
  tada: "🎉",
  rocket: "🚀",
  "100": "💯",
  white_check_mark: "✅",
  heavy_check_mark: "✔",
  x: "❌",
  warning: "⚠",
  hourglass_flowing_sand: "⏳",
  bulb: "💡",
  broken_heart: "💔",
};

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(EMOJI).map(([name, emoji]) => [emoji, name]));

/** Slack's second names of some of them. */
const ALIASES: Readonly<Record<string, string>> = { thumbsup: "+1", thumbsdown: "-1", thinking: "thinking_face" };

const SELECTOR = /\uFE0F/g;
const FIRST_TONE = 0x1f3fb;

/** Slack's name of an emoji, without colons; `undefined` if the table lacks it. */
export function slackName(emoji: string): string | undefined {
  const [, base = "", tone] = /^(.*?)([\u{1F3FB}-\u{1F3FF}]?)$/u.exec(emoji.replace(SELECTOR, "")) ?? [];
  const name = NAMES.get(base) ?? /^:([a-z0-9_+'-]+):$/.exec(base)?.[1]; // names of a workspace's own emoji
  if (name === undefined || !tone) return name;
  return `${name}::skin-tone-${(tone.codePointAt(0) ?? FIRST_TONE) - FIRST_TONE + 2}`;
}

/** The emoji with this name; `:name:` if the table lacks it. */
export function emojiNamed(name: string): string {
  const [base = "", tone] = name.split("::skin-tone-");
  const emoji = own(EMOJI, own(ALIASES, base) ?? base);
  if (emoji === undefined) return `:${name}:`;
  return tone === undefined ? emoji : emoji + String.fromCodePoint(FIRST_TONE + Number(tone) - 2);
}

function own(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
