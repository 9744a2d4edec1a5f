/** What agents can ask about their sessions. */
import { type Clock, Strict, Type } from "@svc/sdk";
import { defineTool, type SessionEntry, type Sessions, type Tool } from "@svc/sdk/services";
import { type ModelDefaults, modelOf } from "./entries.ts";
import type { SessionStore } from "./store.ts";
import type { Transcripts } from "./transcripts.ts";

/** Most sessions `sessions_list` shows, and its default. */
const MAX_LISTED = 20;

export interface ToolOptions {
  readonly store: SessionStore;
  readonly transcripts: Transcripts;
  readonly sessions: Sessions;
  readonly clock: Pick<Clock, "now">;
  readonly modelDefaults: () => ModelDefaults;
}

/** Tells an agent which session it is in, its model, its size and the time. */
export function sessionStatusTool({ store, transcripts, clock, modelDefaults }: ToolOptions): Tool {
  return defineTool({
    description:
      "Shows the current session: key, id, model, number of messages, tokens used, and the current time (UTC).",
    params: Strict({}),
    scope: "operator.read",
    async run(_params, { call: { sessionKey } }) {
      const [entry, messages] = await Promise.all([store.get(sessionKey), transcripts.count(sessionKey)]);
      return statusText({ key: sessionKey, entry, messages, defaults: modelDefaults(), now: clock.now() });
    },
  });
}

/** Tells an agent its newest sessions; other agents' sessions are none of its business. */
export function sessionsListTool({ sessions }: Pick<ToolOptions, "sessions">): Tool {
  return defineTool({
    description: "Lists this agent's sessions, newest first: key, title, when last used.",
    params: Strict({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_LISTED, default: MAX_LISTED, description: "sessions" }),
      ),
    }),
    scope: "operator.read",
    async run({ limit = MAX_LISTED }, { call: { agentId } }) {
      const listed = await sessions.recent({ limit, agentId });
      const global = sessions.agentOf("global") === agentId ? await sessions.get("global") : undefined;
      const all = global ? [{ key: "global", entry: global }, ...listed] : listed;
      const newest = all.toSorted((a, b) => b.entry.updatedAt - a.entry.updatedAt).slice(0, limit);
      return newest.length === 0 ? "No sessions." : newest.map(listLine).join("\n");
    },
  });
}

interface Status {
  readonly key: string;
  readonly entry: SessionEntry | undefined;
  readonly messages: number;
  readonly defaults: ModelDefaults;
  /** epoch ms */
  readonly now: number;
}

/** One fact a line; facts nobody knows are left out. */
export function statusText({ key, entry, messages, defaults, now }: Status): string {
  const { modelProvider, model } = modelOf(entry ?? {}, defaults);
  const window = entry?.contextTokens ?? defaults.contextTokens;
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ["Session", key],
    ["Session id", entry?.sessionId ?? "none yet"],
    ["Model", model && [modelProvider, model].filter(Boolean).join("/")],
    ["Messages", String(messages)],
    ["Tokens", tokensText(entry, window)],
    ["Time", new Date(now).toISOString()],
  ];
  return facts.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join("\n");
}

function tokensText(entry: SessionEntry | undefined, window: number | null): string {
  const total = entry?.totalTokensFresh === false ? undefined : entry?.totalTokens;
  const parts = [
    total === undefined ? undefined : `${total} in context`,
    window === null ? undefined : `window ${window}`,
    `${entry?.inputTokens ?? "unknown"} in`,
    `${entry?.outputTokens ?? "unknown"} out`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function listLine({ key, entry }: { key: string; entry: SessionEntry }): string {
  const title = entry.displayName ?? entry.label;
  return `- ${key}${title ? ` "${title}"` : ""}, last used ${new Date(entry.updatedAt).toISOString()}`;
}
