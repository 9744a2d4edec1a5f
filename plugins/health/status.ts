/** The result of `status`: sessions, agents and heartbeat at a glance. Read-only. Spec: protocol/methods-health.md §2. */
import { isGatewayError, type Live } from "@svc/sdk";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import type { Models } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { defaultAgentOf, type HealthSources, heartbeatOf } from "./summary.ts";

/** Rows in each list. */
const RECENT = 10;
/** Maximum number of returned texts of events that wait for the main session. Spec: http/sessions-routing.md §7.4. */
const QUEUED = 20;
/** Keys that the lists omit. */
const SPECIAL = new Set(["global", "unknown"]);

export interface StatusSources extends Omit<HealthSources, "gateway"> {
  readonly gateway?: Pick<GatewayInfo, "fileRefusal">;
  readonly sessions: Pick<Sessions, "recent" | "count" | "location" | "defaults" | "agentOf"> | undefined;
  readonly agents: Pick<AgentDirectory, "list" | "defaultId"> | undefined;
  readonly models: Pick<Models, "resolve"> | undefined;
  readonly events?: Live<Pick<SystemEvents, "waiting">>;
}

interface ModelDefaults {
  readonly model: string | null;
  /** tokens */
  readonly contextTokens: number | null;
}

type StoredSession = { readonly key: string; readonly entry: SessionEntry };
type Row = ReturnType<typeof sessionRow>;

/**
 * @param options.full show paths, models and sessions; otherwise only counts.
 * @param options.now epoch ms
 */
export async function gatewayStatus(sources: StatusSources, { full, now }: { full: boolean; now: number }) {
  const { sessions, agents } = sources;
  const agentIds = agents?.list().map(({ id }) => id) ?? [];
  const row = ({ key, entry }: StoredSession) => {
    const agentId = sessions?.agentOf(key);
    return sessionRow({ key, entry, agentId, defaults: modelDefaults(sources.models, agentId), now });
  };
  const recentRows = async (agentId?: string): Promise<Row[]> => {
    if (!sessions || !full) return [];
    const limit = RECENT + SPECIAL.size;
    const stored = await sessions.recent(agentId === undefined ? { limit } : { limit, agentId });
    return stored
      .filter(({ key }) => !SPECIAL.has(key))
      .slice(0, RECENT)
      .map(row);
  };
  const ofAgent = async (agentId: string) => ({
    agentId,
    path: full ? (sessions?.location ?? "") : "[redacted]",
    count: (await sessions?.count(agentId)) ?? 0,
    recent: await recentRows(agentId),
  });
  // Awaited together: otherwise a promise that rejects while another one is awaited would be an unhandled rejection.
  const [count = 0, recent, byAgent, waiting = []] = await Promise.all([
    sessions?.count(),
    recentRows(),
    Promise.all(agentIds.map(ofAgent)),
    sessions && sources.events?.get()?.waiting(sessions.defaults().mainSessionKey),
  ]);
  return {
    heartbeat: {
      defaultAgentId: defaultAgentOf(sources),
      agents: agentIds.map((agentId) => {
        const { enabled, every, everyMs } = heartbeatOf(sources, agentId);
        return { agentId, enabled, every, everyMs };
      }),
    },
    channelSummary: (sources.delivery?.get()?.configured() ?? []).map(
      ({ label, accounts }) =>
        `${label}: ${accounts.map(({ accountId, connected, linked }) => `${accountId} ${!linked ? "needs a login" : connected ? "connected" : "not connected"}`).join(", ")}`,
    ),
    queuedSystemEvents: waiting.slice(0, QUEUED).map(({ text }) => text),
    sessions: {
      paths: full && sessions ? [sessions.location] : [],
      count,
      defaults: full ? modelDefaults(sources.models) : { model: null, contextTokens: null },
      recent,
      byAgent,
    },
    ...(sources.gateway?.fileRefusal === undefined
      ? {}
      : { lastGoodConfig: full ? sources.gateway.fileRefusal : "[redacted]" }),
  };
}

/** Choice: a gateway without a usable model has no default model, which is not an error here. */
function modelDefaults(models: StatusSources["models"], agentId?: string): ModelDefaults {
  try {
    const model = models?.resolve(undefined, agentId);
    return { model: model?.id ?? null, contextTokens: model?.contextWindow ?? null };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { model: null, contextTokens: null };
  }
}

interface RowFacts extends StoredSession {
  readonly agentId: string | undefined;
  readonly defaults: ModelDefaults;
  readonly now: number;
}

/** Fields of an entry that are copied if present. */
const SHOWN = [
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "elevatedLevel",
  "systemSent",
  "abortedLastRun",
  "inputTokens",
  "outputTokens",
  "cacheRead",
  "cacheWrite",
] as const;

/** The row of a session in `status`. */
export function sessionRow({ key, entry, agentId, defaults, now }: RowFacts) {
  const fresh = entry.totalTokensFresh !== false && entry.totalTokens !== undefined;
  const total = fresh ? (entry.totalTokens ?? null) : null;
  const context = entry.contextTokens ?? defaults.contextTokens;
  const measured = total !== null && context !== null && context > 0 ? { total, context } : undefined;
  return {
    ...(agentId === undefined ? {} : { agentId }),
    key,
    kind: kindOf(key),
    sessionId: entry.sessionId,
    updatedAt: entry.updatedAt,
    age: Math.max(0, now - entry.updatedAt),
    ...Object.fromEntries(SHOWN.flatMap((field) => (entry[field] === undefined ? [] : [[field, entry[field]]]))),
    totalTokens: total,
    totalTokensFresh: fresh,
    remainingTokens: measured ? Math.max(0, measured.context - measured.total) : null,
    percentUsed: measured ? Math.min(999, Math.round((measured.total / measured.context) * 100)) : null,
    model: entry.modelOverride ?? entry.model ?? defaults.model,
    contextTokens: context,
    flags: flagsOf(entry),
  };
}

/** The kind of a session, by the shape of its key. Spec: protocol/methods-sessions.md §1. */
function kindOf(key: string): "direct" | "group" | "global" | "unknown" {
  if (key === "global" || key === "unknown") return key;
  return /:(?:group|channel):/.test(key) ? "group" : "direct";
}

function flagsOf(entry: SessionEntry): string[] {
  const levels = [
    ["think", entry.thinkingLevel],
    ["verbose", entry.verboseLevel],
    ["reasoning", entry["reasoningLevel"]],
    ["elevated", entry["elevatedLevel"]],
  ] as const;
  return [
    ...levels.flatMap(([name, level]) => (typeof level === "string" && level !== "" ? [`${name}:${level}`] : [])),
    ...(entry["systemSent"] === true ? ["system"] : []),
    ...(entry.abortedLastRun === true ? ["aborted"] : []),
    `id:${entry.sessionId}`,
  ];
}
