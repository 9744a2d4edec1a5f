/** Names of emoji on networks that use the ones of the list emoji-data. Pure. */

/** The emoji that people react with most. Of several names, the first is the one that is sent. */
const TABLE = `
👍 +1 thumbsup|👎 -1 thumbsdown|❤ heart|💔 broken_heart|😂 joy|🤣 rolling_on_the_floor_laughing|😄 smile|😀 grinning|😃 smiley
😁 grin|😆 laughing satisfied|😅 sweat_smile|🙂 slightly_smiling_face|😊 blush|😍 heart_eyes|🥰 smiling_face_with_3_hearts
😘 kissing_heart|😉 wink|😎 sunglasses|🤩 star-struck|🥳 partying_face|🤔 thinking_face thinking|🤨 face_with_raised_eyebrow
😐 neutral_face|😑 expressionless|🙄 face_with_rolling_eyes|😏 smirk|😢 cry|😭 sob|😱 scream|🤯 exploding_head|😠 angry|😡 rage
😫 tired_face|😴 sleeping|🥺 pleading_face|🤗 hugging_face|🫡 saluting_face|🫠 melting_face|🤡 clown_face|👻 ghost|🤖 robot_face
🤷 shrug|🤦 face_palm|👏 clap|🙏 pray|🙌 raised_hands|👋 wave|👌 ok_hand|💪 muscle|🤝 handshake|☝ point_up|👉 point_right|✌ v
🤞 crossed_fingers|👀 eyes|🧠 brain|🔥 fire|✨ sparkles|⭐ star|⚡ zap|🎉 tada|🚀 rocket|💯 100|✅ white_check_mark
✔ heavy_check_mark|❌ x|⚠ warning|❓ question|❗ exclamation heavy_exclamation_mark|⏳ hourglass_flowing_sand|💡 bulb|📝 memo pencil
🔒 lock|🐛 bug`;

const entries = TABLE.trim()
  .split(/[|\n]/)
  .map((entry) => entry.split(" ") as [emoji: string, ...names: [string, ...string[]]]); // each emoji has a name
const byName = new Map(entries.flatMap(([emoji, ...names]) => names.map((name) => [name, emoji])));
const byEmoji = new Map(entries.map(([emoji, name]) => [emoji, name]));

/** @param name without colons and skin tone. @returns the emoji without variation selector; `undefined`: not in the table */
export function emojiOf(name: string): string | undefined {
  return byName.get(name);
}

/**
 * @param emoji Unicode, whose skin tone is ignored, or the name of any emoji of the network as `:name:`
 * @returns the name without colons; `undefined`: not in the table
 */
export function emojiName(emoji: string): string | undefined {
  const own = /^:([a-z0-9_+'-]{1,100}):$/.exec(emoji)?.[1];
  return own ?? byEmoji.get(emoji.replace(/[\uFE0E\uFE0F]|\p{Emoji_Modifier}/gu, ""));
}
