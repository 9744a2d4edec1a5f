/** The health summary, built from the services. Read-only. Spec: protocol/methods-health.md §1. */
import type { Live, Static } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Delivery } from "@svc/sdk/channels";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { HealthSummary } from "@svc/sdk/health";
import type { Heartbeats, HeartbeatView } from "@svc/sdk/heartbeat";
import type { Sessions } from "@svc/sdk/sessions";

export type Health = Static<typeof HealthSummary>;

/** Sessions listed in a summary. */
const RECENT = 5;

/** Choice: without a heartbeat plugin, the heartbeat of every agent is shown as disabled. */
export const NO_HEARTBEAT: HeartbeatView = {
  enabled: false,
  every: "0m",
  everyMs: null,
  prompt: "",
  target: "none",
  ackMaxChars: 0,
};

/** Sources of the facts. A trimmed gateway lacks some of these services. */
export interface HealthSources {
  readonly gateway: Pick<GatewayInfo, "fileRefusal" | "missingPlugins">;
  readonly sessions: Pick<Sessions, "recent" | "count" | "location" | "defaults"> | undefined;
  readonly agents: Pick<AgentDirectory, "list" | "defaultId"> | undefined;
  readonly heartbeats?: Live<Pick<Heartbeats, "of">>;
  readonly delivery?: Live<Pick<Delivery, "configured">>;
}

/** The current heartbeat settings of an agent. */
export function heartbeatOf({ heartbeats }: Pick<HealthSources, "heartbeats">, agentId: string): HeartbeatView {
  return heartbeats?.get()?.of(agentId) ?? NO_HEARTBEAT;
}

/** @param clock epoch ms and monotonic ms */
export async function healthSummary(
  sources: HealthSources,
  clock: { now(): number; elapsed(): number },
): Promise<Health> {
  const { sessions, agents } = sources;
  const began = clock.elapsed();
  const now = clock.now();
  const defaultAgentId = defaultAgentOf({ sessions, agents });
  const known = agents?.list() ?? [];
  const rows = await Promise.all(
    known.map(async ({ id, name, isDefault }) => ({
      agentId: id,
      ...(name === undefined ? {} : { name }),
      isDefault,
      heartbeat: heartbeatOf(sources, id),
      sessions: await recentSessions(sessions, id, now),
    })),
  );
  const own = rows.find(({ agentId }) => agentId === defaultAgentId)?.sessions;
  const recent = own ?? (await recentSessions(sessions, defaultAgentId, now));
  return {
    ...pluginHealth(sources),
    ts: now,
    durationMs: Math.round(clock.elapsed() - began),
    ...channelHealth(sources),
    heartbeatSeconds: Math.round((heartbeatOf(sources, defaultAgentId).everyMs ?? 0) / 1_000),
    defaultAgentId,
    agents: rows,
    sessions: recent,
    ...(sources.gateway.fileRefusal === undefined ? {} : { lastGoodConfig: true }),
  };
}

/** The channels with an account that runs. */
function channelHealth({ delivery }: Pick<HealthSources, "delivery">) {
  const channels = delivery?.get()?.configured() ?? [];
  return {
    channels: Object.fromEntries(
      channels.map(({ id, defaultAccountId, accounts }) => [
        id,
        {
          accountId: defaultAccountId,
          configured: true,
          linked: accounts.every(({ linked }) => linked),
          accounts: Object.fromEntries(accounts.map((account) => [account.accountId, account])),
        },
      ]),
    ),
    channelOrder: channels.map(({ id }) => id),
    channelLabels: Object.fromEntries(channels.map(({ id, label }) => [id, label])),
  };
}

/** The part that is never cached. Choice: `ok` is false while an enabled plugin is not running. */
export function pluginHealth({ gateway }: Pick<HealthSources, "gateway">): Pick<Health, "ok" | "missingPlugins"> {
  const missingPlugins = [...gateway.missingPlugins()];
  return { ok: missingPlugins.length === 0, missingPlugins };
}

/** Choice: without agents and sessions, the default agent is `main`. */
export function defaultAgentOf({ sessions, agents }: Pick<HealthSources, "sessions" | "agents">): string {
  return agents?.defaultId ?? sessions?.defaults().defaultAgentId ?? "main";
}

async function recentSessions(sessions: HealthSources["sessions"], agentId: string, now: number) {
  if (!sessions) return { path: "", count: 0, recent: [] };
  const [count, recent] = await Promise.all([sessions.count(agentId), sessions.recent({ limit: RECENT, agentId })]);
  return {
    path: "", // a path of the machine; `status` shows it to admins
    count,
    recent: recent.map(({ key, entry }) => ({
      key,
      updatedAt: entry.updatedAt,
      age: Math.max(0, now - entry.updatedAt),
    })),
  };
}
