/** Whether the gateway may speak in a session. Pure. Spec: http/sessions-routing.md §8. */
import type { SessionEntry } from "@svc/sdk/sessions";
import type { SendPolicySetting } from "../config.ts";
import { channelOfSession, chatTypeOf, parseKey, text } from "./keys.ts";

type Action = "allow" | "deny";
type Rule = NonNullable<SendPolicySetting["rules"]>[number];

/** The entry decides, else any denying rule that matches, else an allowing one, else the default. */
export function sendPolicyOf(
  setting: SendPolicySetting | undefined,
  key: string,
  entry: Partial<SessionEntry> | undefined,
): Action {
  if (entry?.sendPolicy === "allow" || entry?.sendPolicy === "deny") return entry.sendPolicy;
  const matching = (setting?.rules ?? []).filter((rule) => matches(rule, key, entry));
  if (matching.some(({ action }) => action === "deny")) return "deny";
  return matching.length > 0 ? "allow" : (setting?.default ?? "allow");
}

/** All fields of a rule must match; a rule without fields matches everywhere. */
function matches({ match = {} }: Rule, key: string, entry: Partial<SessionEntry> = {}): boolean {
  const { channel, chatType, keyPrefix, rawKeyPrefix } = match;
  const rest = parseKey(key)?.rest ?? key;
  if (channel !== undefined && lower(channel) !== lower(channelOfSession(key, entry) ?? "")) return false;
  if (chatType !== undefined && direct(chatType) !== direct(text(entry["chatType"]) ?? chatTypeOf(key))) return false;
  if (keyPrefix !== undefined && ![key, rest].some((form) => form.startsWith(lower(keyPrefix)))) return false;
  return rawKeyPrefix === undefined || key.startsWith(lower(rawKeyPrefix));
}

function direct(chatType: string | undefined): string | undefined {
  return chatType === "dm" ? "direct" : chatType;
}

function lower(value: string): string {
  return value.trim().toLowerCase();
}
