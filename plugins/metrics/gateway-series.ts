/** Series of the gateway and its process; process series have the names that Node.js dashboards expect. Pure. */
import type { Family } from "./exposition.ts";
import type { LoopDelay } from "./loop-delay.ts";
import type { Ownership } from "@svc/sdk/storage";

export interface GatewayFacts {
  readonly version: string;
  readonly nodeVersion: string;
  /** Time of the gateway's start or of its last restart within the process. epoch ms */
  readonly startedAt: number;
  /** epoch ms */
  readonly now: number;
  /** Role of each accepted connection. */
  readonly roles: readonly string[];
  /**
   * Delays since the last scrape; `undefined` at the first scrape, and if nothing was measured since the last scrape.
   */
  readonly delay: LoopDelay | undefined;
  readonly memory: {
    readonly rss: number;
    readonly heapTotal: number;
    readonly heapUsed: number;
    readonly external: number;
  };
  /** CPU time since the process started. microseconds */
  readonly cpu: { readonly user: number; readonly system: number };
  /** Start of the process. epoch ms */
  readonly processStartedAt: number;
  /** Absent: no storage plugin runs. */
  readonly ownership: Pick<Ownership, "aheadMs" | "lease" | "others"> | undefined;
}

export function gatewaySeries(facts: GatewayFacts): Family[] {
  const { version, nodeVersion, roles, delay, memory, cpu, now, startedAt, processStartedAt, ownership } = facts;
  const gauge = (name: string, help: string, value: number | undefined): Family => {
    return { name, help, type: "gauge", samples: value === undefined ? [] : [{ value }] };
  };
  const counter = (name: string, help: string, value: number): Family => {
    return { name, help, type: "counter", samples: [{ value }] };
  };
  const lag = (name: string, what: string, ms: number | undefined): Family =>
    gauge(
      `nodejs_eventloop_lag_${name}_seconds`,
      `${what} delay of the event loop since the last scrape`,
      ms && ms / 1_000,
    );
  return [
    {
      name: "svc_info",
      help: "Versions of the gateway and of Node.js",
      type: "gauge",
      samples: [{ labels: { version, node: nodeVersion }, value: 1 }],
    },
    gauge(
      "svc_uptime_seconds",
      "Time since the start of the gateway, or since its restart within the process",
      (now - startedAt) / 1_000,
    ),
    {
      name: "svc_connections",
      help: "Accepted WebSocket connections",
      type: "gauge",
      samples: [...new Set(["operator", "node", ...roles])].map((role) => {
        return { labels: { role }, value: roles.filter((one) => one === role).length };
      }),
    },
    gauge(
      "svc_gateways",
      "Gateways that use the state of this one, this one among them",
      ownership && ownership.others + 1,
    ),
    gauge(
      "svc_lease_seconds",
      "Time for which this gateway acts without a renewal of its lease; absent: it needs none",
      ownership?.lease.leftMs === undefined ? undefined : ownership.lease.leftMs / 1_000,
    ),
    counter("svc_lease_losses_total", "How often this gateway lost its lease", ownership?.lease.losses ?? 0),
    gauge(
      "svc_database_clock_ahead_seconds",
      "Time by which the clock of the database is ahead of that of this machine",
      ownership?.lease.leftMs === undefined ? undefined : ownership.aheadMs / 1_000,
    ),
    lag("p50", "Median", delay?.p50),
    lag("p99", "99th percentile of the", delay?.p99),
    lag("max", "Longest", delay?.max),
    counter("process_cpu_user_seconds_total", "User CPU time", cpu.user / 1e6),
    counter("process_cpu_system_seconds_total", "System CPU time", cpu.system / 1e6),
    counter("process_cpu_seconds_total", "User and system CPU time", (cpu.user + cpu.system) / 1e6),
    gauge(
      "process_start_time_seconds",
      "Start time of the process, in seconds since the epoch",
      processStartedAt / 1_000,
    ),
    gauge("process_resident_memory_bytes", "Resident memory, including plugin threads", memory.rss),
    gauge("nodejs_heap_size_total_bytes", "Heap of the main thread", memory.heapTotal),
    gauge("nodejs_heap_size_used_bytes", "Used heap of the main thread", memory.heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory outside of the heap, such as buffers", memory.external),
    {
      name: "nodejs_version_info",
      help: "Version of Node.js",
      type: "gauge",
      samples: [{ labels: { version: nodeVersion }, value: 1 }],
    },
  ];
}
