/**
 * Well-known names: core tools in the order of the catalogue, their groups and profiles. Any plugin may provide a core
 * tool. Spec: protocol/methods-models.md §2, http/tools-invoke.md §7.2.
 */
import type { ToolProfile } from "@svc/sdk/tools";

/** A group of the catalogue. */
export interface CoreGroup {
  readonly id: string;
  readonly label: string;
  readonly tools: readonly string[];
}

export const CORE_GROUPS: readonly CoreGroup[] = [
  { id: "fs", label: "Files", tools: ["read", "write", "edit", "apply_patch"] },
  { id: "runtime", label: "Runtime", tools: ["exec", "process"] },
  { id: "web", label: "Web", tools: ["web_search", "web_fetch"] },
  { id: "memory", label: "Memory", tools: ["memory_search", "memory_get"] },
  {
    id: "sessions",
    label: "Sessions",
    tools: ["sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents", "session_status"],
  },
  { id: "ui", label: "UI", tools: ["browser", "canvas"] },
  { id: "messaging", label: "Messaging", tools: ["message"] },
  { id: "automation", label: "Automation", tools: ["cron", "gateway"] },
  { id: "nodes", label: "Nodes", tools: ["nodes"] },
  { id: "agents", label: "Agents", tools: ["agents_list"] },
  { id: "media", label: "Media", tools: ["image", "tts"] },
];

/** Tools of each profile; `full` allows everything and is not listed. Spec: tools-invoke.md §7.2. */
export const PROFILES: ReadonlyMap<ToolProfile, readonly string[]> = new Map([
  ["minimal", ["session_status"]],
  [
    "coding",
    words(
      "read write edit apply_patch exec process memory_search memory_get sessions_list sessions_history sessions_send " +
        "sessions_spawn subagents session_status cron image",
    ),
  ],
  ["messaging", words("sessions_list sessions_history sessions_send session_status message")],
]);

/** The group of all tools that are not core tools. */
export const PLUGIN_TOOLS = "group:plugins";

/** Choice: `group:svc` excludes tools that access the gateway's machine. Spec: §7.2. */
const SERVICE_GROUPS: readonly string[] = CORE_GROUPS.map(({ id }) => id).filter(
  (id) => id !== "fs" && id !== "runtime",
);

/** Members by `group:<id>`. */
export const GROUPS: ReadonlyMap<string, readonly string[]> = new Map([
  ...CORE_GROUPS.map(({ id, tools }) => [`group:${id}`, tools] as const),
  ["group:svc", CORE_GROUPS.filter(({ id }) => SERVICE_GROUPS.includes(id)).flatMap(({ tools }) => tools)] as const,
]);

/** Choice: for the policy, `pdf` is a core tool (§5 lists it), although it is in no group of the catalogue. */
export const CORE_TOOLS: ReadonlySet<string> = new Set([...CORE_GROUPS.flatMap(({ tools }) => tools), "pdf"]);

/** Tools that need an agent's files or run, so that `/tools/invoke` never offers them. Spec: §5. */
export const RUN_ONLY_TOOLS: ReadonlySet<string> = new Set(words("read write edit apply_patch exec process image pdf"));

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["bash", "exec"],
  ["apply-patch", "apply_patch"],
]);

/** Normalizes a name for comparison: trimmed, lower case, aliases resolved. Spec: §7.1. */
export function plainName(name: string): string {
  const plain = name.trim().toLowerCase();
  return ALIASES.get(plain) ?? plain;
}

/** Splits a list of names in one string. */
export function words(text: string): readonly string[] {
  return text.split(" ");
}
