/** Names of emoji on Mattermost. Pure. */

/** The 60 most used emoji; the first name of an emoji is the one that is sent. */
const TABLE = `
+1 👍|thumbsup 👍|-1 👎|thumbsdown 👎|heart ❤|tada 🎉|eyes 👀|white_check_mark ✅|x ❌|rocket 🚀|fire 🔥|joy 😂|smile 😄
grinning 😀|smiley 😃|grin 😁|laughing 😆|sweat_smile 😅|rolling_on_the_floor_laughing 🤣|slightly_smiling_face 🙂|wink 😉
blush 😊|heart_eyes 😍|kissing_heart 😘|thinking_face 🤔|thinking 🤔|neutral_face 😐|expressionless 😑|face_with_rolling_eyes 🙄
smirk 😏|cry 😢|sob 😭|angry 😠|rage 😡|scream 😱|sunglasses 😎|sleeping 😴|exploding_head 🤯|shrug 🤷|facepalm 🤦|clap 👏
raised_hands 🙌|pray 🙏|wave 👋|muscle 💪|ok_hand 👌|point_up ☝|point_right 👉|handshake 🤝|v ✌|crossed_fingers 🤞|100 💯|star ⭐
sparkles ✨|zap ⚡|warning ⚠|question ❓|exclamation ❗|bulb 💡|hourglass_flowing_sand ⏳|memo 📝|lock 🔒|bug 🐛`;

const pairs = TABLE.trim()
  .split(/[|\n]/)
  .map((pair) => pair.split(" ") as [name: string, emoji: string]); // each entry has one blank
const byName = new Map(pairs);
const byEmoji = new Map(pairs.toReversed().map(([name, emoji]) => [emoji, name]));

/** @returns the emoji without skin tone; `:name:` for one that is not in the table, e.g. a custom one */
export function emojiOf(name: string): string {
  return byName.get(name.replace(/_(?:light|medium_light|medium|medium_dark|dark)_skin_tone$/, "")) ?? `:${name}:`;
}

/** @param emoji Unicode, or the name of any emoji of the server as `:name:`. @returns `undefined`: not in the table */
export function emojiName(emoji: string): string | undefined {
  const own = /^:([a-z0-9_+-]{1,64}):$/.exec(emoji)?.[1];
  return own ?? byEmoji.get(emoji.replace(/[\uFE0E\uFE0F]|\p{Emoji_Modifier}/gu, ""));
}
