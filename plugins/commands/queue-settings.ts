/**
 * `/queue [mode] [debounce:2s] [cap:20] [drop:old|new|summarize]`: how messages wait for a busy session. Pure. Spec:
 * http/sessions-routing.md §6.
 */
import { invalidRequest } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";

const MODES = ["collect", "followup", "steer", "steer-backlog", "steer+backlog", "queue", "interrupt"];
const DROPS = ["old", "new", "summarize"];
const UNIT_MS: Readonly<Record<string, number>> = { "": 1, ms: 1, s: 1_000, m: 60_000 };

/**
 * Fields of the session entry; empty: only show the current settings.
 * @param words text after `/queue`
 * @throws GatewayError `INVALID_REQUEST` listing the valid values
 */
export function queueSettings(words: string): Partial<SessionEntry> {
  const patch = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(settingOf);
  return Object.assign({}, ...patch) as Partial<SessionEntry>; // `assign` of a list is untyped
}

function settingOf(word: string): Partial<SessionEntry> {
  if (MODES.includes(word)) return { queueMode: word };
  if (word === "default" || word === "reset") {
    return { queueMode: undefined, queueDebounceMs: undefined, queueCap: undefined, queueDrop: undefined };
  }
  const [, option = "", value = "", unit = ""] = /^(debounce|cap|drop):(?:(\d{1,7})(ms|s|m)?|[a-z]+)$/.exec(word) ?? [];
  if (option === "debounce" && value !== "") return { queueDebounceMs: Number(value) * (UNIT_MS[unit] ?? 1) };
  if (option === "cap" && unit === "" && Number(value) >= 1) return { queueCap: Number(value) };
  const drop = word.slice("drop:".length);
  if (option === "drop" && DROPS.includes(drop)) return { queueDrop: drop };
  return invalidRequest(
    `/queue does not know "${word}"; modes: ${MODES.join(", ")}, default; options: debounce:2s, cap:20, drop:${DROPS.join("|")}`,
  );
}

/** Reply with the queue settings of the session. */
export function queueReply({ queueMode, queueDebounceMs, queueCap, queueDrop }: Partial<SessionEntry>): string {
  const set = [
    ...(typeof queueDebounceMs === "number" ? [`debounce ${queueDebounceMs} ms`] : []),
    ...(typeof queueCap === "number" ? [`cap ${queueCap}`] : []),
    ...(typeof queueDrop === "string" ? [`drop ${queueDrop}`] : []),
  ];
  const mode = typeof queueMode === "string" ? queueMode : "as configured";
  return `Queue mode of this session: ${mode}${set.length > 0 ? ` (${set.join(", ")})` : ""}.`;
}
