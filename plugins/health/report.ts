/** The output of the commands. Pure. */
import type { ResultOf } from "@svc/sdk";
import type { health } from "@svc/sdk/health";

/** Outcome of `svc gateway probe`. */
export interface ProbeReport {
  /** The gateway is reachable, every method responded without an error, and every enabled plugin is running. */
  readonly ok: boolean;
  readonly reachable: boolean;
  /** Why the gateway is not reachable. */
  readonly error?: string;
  readonly code?: string;
  /** Next step from the error, if that step is more specific than the step for the error code. */
  readonly next?: string;
  /** Milliseconds from the start of the connection to the last response. */
  readonly latencyMs?: number;
  readonly version?: string;
  readonly checks?: readonly { readonly method: string; readonly ok: boolean; readonly error?: string }[];
}

const LAST_GOOD = "Configuration: the last one that worked; the file was rejected at the start";

type Health = ResultOf<typeof health.check>;

export function healthLines({
  ok,
  missingPlugins = [], // a gateway of another version may list none
  durationMs,
  defaultAgentId,
  agents,
  channelOrder,
  sessions,
  lastGoodConfig,
}: Omit<Health, "missingPlugins"> & Partial<Health>): string[] {
  const { count, path } = (sessions ?? {}) as { count?: number; path?: string }; // protocol/methods-health.md §1
  return [
    `Gateway: ${ok ? "ok" : "not ok"} (${durationMs} ms)`,
    ...(ok ? [] : [`Not running: ${missingPlugins.join(", ") || "unknown"}`, "Next: svc plugins list"]),
    `Agents: ${agents.length} (default ${defaultAgentId})`,
    `Channels: ${channelOrder.length === 0 ? "none" : channelOrder.join(", ")}`,
    `Sessions of ${defaultAgentId}: ${count ?? 0}${path ? ` in ${path}` : ""}`,
    ...(lastGoodConfig ? [LAST_GOOD, "Next: svc config validate"] : []),
  ];
}

/** The printed parts of `status`. Spec: protocol/methods-health.md §2. */
interface StatusFacts {
  readonly lastGoodConfig?: string;
  readonly tls?: { readonly fingerprint: string };
  readonly heartbeat?: { readonly agents?: readonly { agentId: string; enabled: boolean; every: string }[] };
  readonly sessions?: {
    readonly count?: number;
    readonly defaults?: { readonly model?: string | null };
    readonly recent?: readonly {
      key: string;
      age: number | null;
      percentUsed: number | null;
      flags: readonly string[];
    }[];
  };
}

export function statusLines(status: object): string[] {
  const { tls, heartbeat, sessions, lastGoodConfig } = status as StatusFacts; // a gateway with fewer plugins omits parts
  const beats = (heartbeat?.agents ?? []).map(({ agentId, enabled, every }) => `${agentId} ${enabled ? every : "off"}`);
  const rows = (sessions?.recent ?? []).map(({ key, age, percentUsed }) => {
    const used = percentUsed === null ? "" : `, ${percentUsed}% of the context used`;
    return `  ${key}: ${age === null ? "never used" : `${duration(age)} ago`}${used}`;
  });
  return [
    `Model: ${sessions?.defaults?.model ?? "none"}`,
    `Heartbeat: ${beats.length === 0 ? "none" : beats.join(", ")}`,
    `Sessions: ${sessions?.count ?? 0}`,
    ...rows,
    ...(lastGoodConfig === undefined ? [] : [`${LAST_GOOD}:`, ...lastGoodConfig.split("\n")]),
    ...(tls ? [`TLS certificate: SHA-256 ${tls.fingerprint}`] : []),
  ];
}

export function probeLines({ reachable, error, code, next, latencyMs, version, checks = [] }: ProbeReport): string[] {
  if (!reachable) return ["Reachable: no", `Reason: ${error ?? "unknown"}`, `Next: ${next ?? nextStep(code)}`];
  const failed = checks.filter(({ ok }) => !ok);
  return [
    "Reachable: yes",
    `Latency: ${latencyMs ?? 0} ms`,
    `Version: ${version ?? "unknown"}`,
    ...failed.map(({ method, error }) => `Failed: ${method}: ${error ?? "no reason given"}`),
    ...(failed.length > 0
      ? ["Next: run `svc plugins list` on the gateway's machine to see which plugin is not active, and why"]
      : []),
  ];
}

function nextStep(code: string | undefined): string {
  if (code === "UNAVAILABLE") return "start the gateway with `svc gateway run`, or name another one with --url";
  if (code === "NOT_PAIRED") return "approve this device on the gateway, then probe again";
  return "check the credential: --token, or the environment variable SVC_GATEWAY_TOKEN";
}

/** Rounds down to the largest unit: `90000` becomes `1m`. @param ms milliseconds */
export function duration(ms: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
  ] as const;
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ["s", 1_000];
  return `${Math.floor(ms / size)}${unit}`;
}
