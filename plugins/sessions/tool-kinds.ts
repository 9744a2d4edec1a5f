/** Kinds of sessions as the tool `sessions_list` knows them, by their keys. Pure. Spec: http/sessions-routing.md §2. */
import type { StoredSession } from "./entries.ts";
import { kindOf, parseKey } from "./keys.ts";

/** Choice: `other` is everything else: direct chats, sub-agents, what programs asked over HTTP. */
export const KINDS = ["main", "group", "cron", "hook", "node", "other"] as const;
export type ToolKind = (typeof KINDS)[number];

/** @param mainKey name of the main session of each agent */
export function toolKindOf({ key, entry }: StoredSession, mainKey: string): ToolKind {
  const rest = parseKey(key)?.rest ?? "";
  if (key === "global" || rest === mainKey) return "main";
  if (rest.startsWith("cron:")) return "cron";
  if (rest.startsWith("hook:")) return "hook";
  if (rest.startsWith("node-")) return "node";
  return kindOf(key, entry["chatType"]) === "group" ? "group" : "other";
}
