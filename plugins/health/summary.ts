/** The health summary: what it says, from what the services know. Reads only. Spec: protocol/methods-health.md §1. */
import type { HealthSummary, Static } from "@svc/sdk";
import type { AgentDirectory, Sessions } from "@svc/sdk/services";

export type Health = Static<typeof HealthSummary>;

/** Sessions named in a summary. */
const RECENT = 5;

/** Choice: without a plugin that beats, every agent's heartbeat reads as switched off. */
export const NO_HEARTBEAT = {
  enabled: false,
  every: "0m",
  everyMs: null,
  prompt: "",
  target: "none",
  ackMaxChars: 0,
} as const;

/** Where the facts come from; a trimmed gateway has fewer. */
export interface HealthSources {
  readonly sessions: Pick<Sessions, "recent" | "count" | "location" | "defaults"> | undefined;
  readonly agents: Pick<AgentDirectory, "list" | "defaultId"> | undefined;
}

/** @param clock epoch ms and monotonic ms */
export async function healthSummary(
  { sessions, agents }: HealthSources,
  clock: { now(): number; elapsed(): number },
): Promise<Health> {
  const began = clock.elapsed();
  const now = clock.now();
  const defaultAgentId = defaultAgentOf({ sessions, agents });
  const known = agents?.list() ?? [];
  const rows = await Promise.all(
    known.map(async ({ id, name, isDefault }) => ({
      agentId: id,
      ...(name === undefined ? {} : { name }),
      isDefault,
      heartbeat: NO_HEARTBEAT,
      sessions: await recentSessions(sessions, id, now),
    })),
  );
  const own = rows.find(({ agentId }) => agentId === defaultAgentId)?.sessions;
  const recent = own ?? (await recentSessions(sessions, defaultAgentId, now));
  return {
    ok: true,
    ts: now,
    durationMs: Math.round(clock.elapsed() - began),
    channels: {},
    channelOrder: [],
    channelLabels: {},
    heartbeatSeconds: 0,
    defaultAgentId,
    agents: rows,
    sessions: recent,
  };
}

/** Choice: `main` when neither agents nor sessions are there to say. */
export function defaultAgentOf({ sessions, agents }: HealthSources): string {
  return agents?.defaultId ?? sessions?.defaults().defaultAgentId ?? "main";
}

async function recentSessions(sessions: HealthSources["sessions"], agentId: string, now: number) {
  if (!sessions) return { path: "", count: 0, recent: [] };
  const [count, recent] = await Promise.all([sessions.count(agentId), sessions.recent({ limit: RECENT, agentId })]);
  return {
    path: sessions.location,
    count,
    recent: recent.map(({ key, entry }) => ({
      key,
      updatedAt: entry.updatedAt,
      age: Math.max(0, now - entry.updatedAt),
    })),
  };
}
