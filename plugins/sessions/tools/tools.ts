/** The tools `session_status` and `sessions_list`. */
import { type Clock, coversScope, GatewayError, outsideOrigin, Strict, Type } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { isFound, rowOf } from "../finding/listing.ts";
import { kindOf, parseKey } from "../keys-routing/keys.ts";
import type { PatchSession } from "../patching/patch-session.ts";
import { type DefaultsOf, modelOf, type StoredSession } from "../store/entries.ts";
import type { SessionStore } from "../store/store.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
import type { Reaching } from "./reaching.ts";
import { type Status, statusText } from "./status-text.ts";
import { findVisible } from "./tool-session.ts";

/** Kinds of sessions in `sessions_list`. Choice: `other` is everything else: direct chats, sub-agents, HTTP clients. */
const KINDS = ["main", "group", "cron", "hook", "node", "other"] as const;

/** Choice: default and maximum of the sessions that `sessions_list` shows. */
const DEFAULT_LISTED = 20;
const MAX_LISTED = 200;

export interface ToolOptions {
  readonly store: Pick<SessionStore, "get">;
  readonly transcripts: Pick<Transcripts, "count">;
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "mayTouch">;
  readonly reaching: Pick<Reaching, "list">;
  readonly patch: PatchSession;
  readonly clock: Pick<Clock, "now">;
  readonly modelDefaults: DefaultsOf;
  /** Name of the main session of each agent. */
  readonly mainKey: string;
}

/** Shows a session to an agent: its model, its size and the current time. Can set the model. */
export function sessionStatusTool(options: ToolOptions): Tool {
  const { store, transcripts, sessions, patch, clock, modelDefaults, mainKey } = options;
  return defineTool({
    description:
      "Shows this session, or another one: key, id, model, number of messages, tokens used, and the current time (UTC). " +
      "`model` sets the model of the session from then on.",
    params: Strict({
      sessionKey: Type.Optional(Type.String({ description: "default: this session" })),
      model: Type.Optional(
        Type.String({ description: "`provider/id` or a short name, used from then on; `default`: the default model" }),
      ),
    }),
    scope: "operator.read",
    effects: ({ model = "" }) => (model.trim() === "" ? ["reads"] : ["spends"]),
    brings: "none",
    async run({ sessionKey = "", model = "" }, { call, principal }) {
      const isOwn = sessionKey.trim() === "";
      const key = isOwn ? call.sessionKey : (await findVisible(sessionKey, call, sessions)).key;
      const wanted = model.trim();
      if (wanted !== "") {
        if (!coversScope(principal.scopes, "operator.write")) refuseModel();
        await patch({ key, model: wanted.toLowerCase() === "default" ? null : wanted });
      }
      const [entry, messages] = await Promise.all([store.get(key), transcripts.count(key)]);
      const status = { key, entry, messages, defaults: modelDefaults(key), now: clock.now() };
      return { content: [{ type: "text", text: statusText(status) }], details: statusDetails(status, mainKey) };
    },
  });
}

/** Lists the sessions within reach of the calling session. */
export function sessionsListTool({ reaching, clock, modelDefaults, mainKey }: ToolOptions): Tool {
  return defineTool({
    description: "Lists sessions within reach, newest first: key, title, when last used.",
    params: Strict({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_LISTED, description: `sessions; default ${DEFAULT_LISTED}` }),
      ),
      kinds: Type.Optional(Type.Array(Type.Enum([...KINDS]), { description: "only these kinds; default: all" })),
      activeMinutes: Type.Optional(
        Type.Integer({ minimum: 1, description: "only sessions used within this many minutes" }),
      ),
      search: Type.Optional(Type.String({ description: "text in title, label, subject, id or key, in any case" })),
    }),
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    async run({ limit = DEFAULT_LISTED, kinds = [], activeMinutes, search = "" }, { call }) {
      const needle = search.trim().toLowerCase();
      const accept = (session: StoredSession) =>
        isFound(session, needle) && (kinds.length === 0 || kinds.some((kind) => kind === toolKindOf(session, mainKey)));
      const updatedSince = activeMinutes === undefined ? undefined : Math.max(0, clock.now() - activeMinutes * 60_000);
      const found = await reaching.list(call.sessionKey, { updatedSince, accept, limit });
      const rows = found.map((session) => ({
        ...rowOf(session, modelDefaults(session.key)),
        kind: toolKindOf(session, mainKey),
      }));
      const text = found.length === 0 ? "No sessions." : found.map(listLine).join("\n");
      const details = { count: rows.length, sessions: rows };
      // People on a channel choose their own names and the names of their groups.
      const isNamed = found.some(({ entry }) => entry.displayName !== undefined);
      const origin = isNamed ? { origin: outsideOrigin("channel", "names of sessions") } : {};
      return { content: [{ type: "text", text }], details, ...origin };
    },
  });
}

/** The kind of a session, by its key. Spec: http/sessions-routing.md §2. @param mainKey name of the main session of each agent */
export function toolKindOf({ key, entry }: StoredSession, mainKey: string): (typeof KINDS)[number] {
  const rest = parseKey(key)?.rest ?? "";
  if (key === "global" || rest === mainKey) return "main";
  if (rest.startsWith("cron:")) return "cron";
  if (rest.startsWith("hook:")) return "hook";
  if (rest.startsWith("node-")) return "node";
  return kindOf(key, entry["chatType"]) === "group" ? "group" : "other";
}

function statusDetails({ key, entry, messages, defaults, now }: Status, mainKey: string) {
  return {
    ...modelOf(entry ?? {}, defaults),
    contextTokens: entry?.contextTokens ?? defaults.contextTokens,
    ...(entry && { ...rowOf({ key, entry }, defaults), kind: toolKindOf({ key, entry }, mainKey) }),
    sessionKey: key,
    messages,
    now,
  };
}

function listLine({ key, entry }: StoredSession): string {
  const title = entry.displayName ?? entry.label;
  return `- ${key}${title ? ` "${title}"` : ""}, last used ${new Date(entry.updatedAt).toISOString()}`;
}

function refuseModel(): never {
  throw new GatewayError("FORBIDDEN", "this run may not choose a model: it has read access only");
}
