/** Names of emoji on Mattermost. Pure. */
import { emojiOf as knownEmoji } from "@svc/kit/channels";

export { emojiName } from "@svc/kit/channels";

/** @returns the emoji without skin tone; `:name:` for one that is not in the table, e.g. a custom one */
export function emojiOf(name: string): string {
  return knownEmoji(name.replace(/_(?:light|medium_light|medium|medium_dark|dark)_skin_tone$/, "")) ?? `:${name}:`;
}
