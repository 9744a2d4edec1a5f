/** Status of an agent's memory: figures of its index, and whether its embeddings server works. */
import { type Clock, isGatewayError, type ResultOf } from "@svc/sdk";
import type { memory } from "@svc/sdk/memory";
import type { AgentIndexes } from "./agent-indexes.ts";

type Status = ResultOf<typeof memory.status>["agents"][number];
type Embedding = Status["embedding"];

/** Choice: milliseconds for which a successful and a failed probe are cached. */
const GOOD_MS = 60_000;
const BAD_MS = 10_000;
/** Choice: cached servers. */
const MAX_KEPT = 32;

export interface StatusParts {
  readonly indexes: Pick<AgentIndexes, "settings" | "figures" | "endpoint" | "probe">;
  readonly clock: Pick<Clock, "now">;
}

/** Never throws: the status contains the reason why a memory cannot be searched. */
export type StatusOf = (agentId: string, signal: AbortSignal) => Promise<Status>;

export function createStatus({ indexes, clock }: StatusParts): StatusOf {
  const kept = new Map<string, { readonly until: number; readonly embedding: Embedding }>();

  async function probed(agentId: string, signal: AbortSignal): Promise<Partial<Status> & { embedding: Embedding }> {
    const { enabled, endpoint: settings } = indexes.settings(agentId);
    if (!enabled) return { embedding: { ok: false, error: "memorySearch.enabled is false" } };
    if (!settings) return { embedding: { ok: false, error: NONE } };
    const endpoint = await indexes.endpoint(agentId);
    if (endpoint === undefined) return { embedding: { ok: false, error: NONE } };
    if ("reason" in endpoint) return { embedding: { ok: false, error: endpoint.reason } };
    const { provider, model } = settings;
    // Includes the headers: another API key needs another probe.
    const key = JSON.stringify([endpoint.url, endpoint.model, endpoint.headers]);
    const before = kept.get(key);
    if (before && clock.now() < before.until) return { provider, model, embedding: before.embedding };
    const error = await indexes.probe(endpoint, signal);
    const embedding = error === undefined ? { ok: true } : { ok: false, error };
    kept.delete(key);
    kept.set(key, { until: clock.now() + (embedding.ok ? GOOD_MS : BAD_MS), embedding });
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return { provider, model, embedding };
  }

  return async (agentId, signal) => {
    const broken = (error: unknown) => ({ embedding: { ok: false, error: reasonOf(error) } });
    const [known, figures] = await Promise.all([
      probed(agentId, signal).catch(broken),
      indexes.figures(agentId).catch(() => undefined),
    ]);
    return { agentId, ...known, ...figures };
  };
}

const NONE =
  "no embeddings server is configured, so search uses keywords only; set agents.defaults.memorySearch.provider or .remote.baseUrl";

function reasonOf(error: unknown): string {
  return isGatewayError(error) ? error.message : "the memory could not be checked; see the log";
}
