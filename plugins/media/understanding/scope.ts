/** In which sessions files are read for models: `tools.media.*.scope`. Pure. Choice: as `session.sendPolicy`. */
import { unavailable } from "@svc/sdk";
import type { MediaPlace } from "@svc/sdk/media";
import type { MediaConfig, Scope } from "../config.ts";

type Kind = "image" | "audio" | "video";
type Rule = NonNullable<Scope["rules"]>[number];

/** @throws GatewayError `UNAVAILABLE` naming the key that forbids it */
export function requireAllowed(kind: Kind, config: MediaConfig, place: MediaPlace = {}): void {
  const { enabled, scope } = config[kind];
  if (!enabled) unavailable(`it is not read: tools.media.${kind}.enabled is false`);
  if (!isAllowed(scope, place)) unavailable(`it is not read in this session: tools.media.${kind}.scope`);
}

/** Any matching deny wins; otherwise an allow match or the default. */
export function isAllowed(scope: Scope | undefined, place: MediaPlace): boolean {
  const matching = (scope?.rules ?? []).filter((rule) => matches(rule, place));
  if (matching.some(({ action }) => action === "deny")) return false;
  return matching.length > 0 || scope?.default !== "deny";
}

/** All given fields must match; a field of which nothing is known matches no rule. */
function matches({ match = {} }: Rule, { sessionKey = "", channel = "", chatType = "" }: MediaPlace): boolean {
  const { keyPrefix, rawKeyPrefix } = match;
  const rest = sessionKey.replace(/^agent:[^:]*:/, "");
  return (
    (match.channel === undefined || lower(match.channel) === lower(channel)) &&
    (match.chatType === undefined || direct(match.chatType) === direct(chatType)) &&
    (keyPrefix === undefined || [sessionKey, rest].some((key) => key.startsWith(lower(keyPrefix)))) &&
    (rawKeyPrefix === undefined || sessionKey.startsWith(lower(rawKeyPrefix)))
  );
}

const lower = (text: string) => text.trim().toLowerCase();
const direct = (chatType: string) => (chatType === "dm" ? "direct" : chatType);
