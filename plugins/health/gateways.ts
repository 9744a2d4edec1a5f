/** `gateways.list`: the gateways on one state. Each answers for itself. */
import { hostname } from "node:os";
import type { Handlers, ResultOf } from "@svc/sdk";
import type { GatewayInfo, Peers } from "@svc/sdk/gateway";
import type { gateways } from "@svc/sdk/health";
import type { Member, Ownership } from "@svc/sdk/storage";

/** Name of the call to another gateway. */
export const LOAD = "health/load";
/** Choice: milliseconds to wait for each. */
const ANSWER_MS = 2_000;

type Row = ResultOf<typeof gateways.list>["gateways"][number];
export type Load = NonNullable<Row["load"]>;

export interface LoadSources {
  readonly info: GatewayInfo;
  readonly ownership: () => Ownership | undefined;
  readonly configHash: () => Promise<string>;
  readonly isStopping: () => boolean;
}

/** @returns tells about this gateway */
export function createLoad({ info, ownership, configHash, isStopping }: LoadSources): () => Promise<Load> {
  let [cpu, at] = [process.cpuUsage(), performance.now()];
  return async () => {
    const used = process.cpuUsage(cpu);
    const cores = (used.user + used.system) / 1_000 / Math.max(1, performance.now() - at);
    [cpu, at] = [process.cpuUsage(), performance.now()];
    const { losses = 0, lastLoss } = ownership()?.lease ?? {};
    return {
      version: info.version,
      ...(info.url === undefined ? {} : { url: info.url }),
      startedAtMs: info.startedAt,
      isStopping: isStopping(),
      clients: info.connections().length,
      busy: [...info.busy()],
      cpu: Math.round(cores * 100) / 100,
      rssBytes: process.memoryUsage.rss(),
      aheadMs: Math.round(ownership()?.aheadMs ?? 0),
      leaseLosses: losses,
      ...(lastLoss ? { lastLoss: { atMs: lastLoss.at, reason: lastLoss.reason } } : {}),
      configHash: await configHash(),
    };
  };
}

export interface ListSources {
  readonly peers: Peers;
  readonly ownership: () => Ownership | undefined;
  readonly load: () => Promise<Load>;
}

export function listGateways({ peers, ownership, load }: ListSources): Handlers<typeof gateways>["list"] {
  const loadOf = (id: string) =>
    id === peers.self
      ? load()
      : (peers.ask(id, LOAD, {}, { timeoutMs: ANSWER_MS }).catch(() => undefined) as Promise<Load | undefined>); // answered by this plugin
  const rowOf = async ({ id, name, joinedAt, leftMs, owned }: Member): Promise<Row> => {
    const its = leftMs > 0 ? await loadOf(id) : undefined;
    const lease = { joinedAtMs: joinedAt, leaseMs: Math.round(leftMs) };
    return { id, name, isThis: id === peers.self, ...lease, owned: [...owned], ...(its ? { load: its } : {}) };
  };
  return async () => {
    const members = (await ownership()?.members()) ?? [];
    if (peers.self !== undefined && members.length > 0) return { gateways: await Promise.all(members.map(rowOf)) };
    const alone: Row = { id: "", name: hostname(), isThis: true, owned: [], load: await load() };
    return { gateways: [alone, ...(await Promise.all(members.map(rowOf)))] };
  };
}
