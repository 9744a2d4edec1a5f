/** Emoji and their names on Slack, with its notation of skin tones. Pure. */
import { emojiName, emojiOf } from "@svc/kit/channels";

/** The lightest one; Slack counts from 2. */
const FIRST_TONE = 0x1f3fb;

/** Slack's name of an emoji, without colons; `undefined` if the table lacks it. */
export function slackName(emoji: string): string | undefined {
  const name = emojiName(emoji);
  const tone = /\p{Emoji_Modifier}/u.exec(emoji)?.[0].codePointAt(0);
  return name === undefined || tone === undefined ? name : `${name}::skin-tone-${tone - FIRST_TONE + 2}`;
}

/** The emoji with this name; `:name:` if the table lacks it. */
export function emojiNamed(name: string): string {
  const [base = "", tone] = name.split("::skin-tone-");
  const emoji = emojiOf(base);
  if (emoji === undefined) return `:${name}:`;
  return tone === undefined ? emoji : emoji + String.fromCodePoint(FIRST_TONE + Number(tone) - 2);
}
