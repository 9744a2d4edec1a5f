/** Checks a history of webhooks: each accepted one was carried out once. Reads the tables when nothing is in progress. */
import assert from "node:assert/strict";
import type { GatewayClient } from "@svc/sdk/client";
import { type HookSenders, isRun, markerOf, type Posted } from "./hook-senders.ts";
import { stored } from "./rows-plugin.ts";
import { pause } from "./workload.ts";

/** Milliseconds within which all work must finish. Generous: the machine may be busy. */
const DRAIN_MS = 120_000;
/** Rows per query. */
const PAGE = 1_000;

async function rowsOf<T>(client: GatewayClient, sql: string): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const { rows } = await client.call(stored.rows, { sql: `${sql} LIMIT ${PAGE} OFFSET ${found.length}` });
    found.push(...(rows as T[])); // the caller names the columns
    if (rows.length < PAGE) return found;
  }
}

const LEFT = {
  "webhooks that wait or run": "FROM webhook_runs WHERE status IN ('queued', 'running')",
  "agent runs that wait or run": "FROM agent_runs WHERE status IN ('accepted', 'running')",
  "events that wait": "FROM heartbeat_events WHERE status = 'waiting'",
};

/** Resolves when nothing is left to do. @throws AssertionError with the remaining work */
export async function drained(client: GatewayClient, context: string): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  for (;;) {
    const left: string[] = [];
    for (const [what, from] of Object.entries(LEFT)) {
      const [row] = await rowsOf<{ n: number }>(client, `SELECT count(*) AS n ${from}`);
      if (row?.n !== 0) left.push(`${row?.n} ${what}`);
    }
    if (left.length === 0) return;
    assert.ok(performance.now() < deadline, `${context}: left after ${DRAIN_MS} ms: ${left.join(", ")}`);
    await pause(50);
  }
}

/** Counts per marker in completed turns: answers of a webhook's own run, and notices to the main session. */
interface Said {
  readonly answered: ReadonlyMap<string, number>;
  readonly told: ReadonlyMap<string, number>;
  readonly turns: number;
}

async function whatWasSaid(client: GatewayClient): Promise<Said> {
  const [answered, told] = [new Map<string, number>(), new Map<string, number>()];
  const turns = await rowsOf<{ origin: string; outcome: string }>(
    client,
    "SELECT origin, outcome FROM agent_runs WHERE status = 'ok' ORDER BY run_id",
  );
  for (const { origin, outcome } of turns) {
    const { text } = JSON.parse(outcome) as { readonly text: string };
    const counts = origin === "hook" ? answered : told;
    for (const marker of text.match(/\b(?:wake|did)-\d+;/g) ?? []) counts.set(marker, (counts.get(marker) ?? 0) + 1);
  }
  return { answered, told, turns: turns.length };
}

interface RunRow {
  readonly run_id: string;
  readonly status: string;
  readonly reason: string | null;
}

/** Describes the fault of one webhook; `undefined` if it is correct. */
function faultOf(posted: Posted, row: RunRow | undefined, { answered, told }: Said): string | undefined {
  const marker = markerOf(posted);
  const runs = isRun(posted) ? (answered.get(marker) ?? 0) : 1;
  const times = told.get(marker) ?? 0;
  if (posted.runId === undefined)
    return times > 1 || runs > 1 ? `unanswered, ran ${runs} times, told ${times} times` : undefined;
  if (row?.status !== "done") return `${row?.status ?? "no record"} (${row?.reason ?? "no reason"})`;
  return runs === 1 && times === 1 ? undefined : `ran ${runs} times, told ${times} times`;
}

export interface Verdict {
  /** Completed turns of any kind. */
  readonly turns: number;
  /** Webhooks carried out although their request was never answered. */
  readonly unanswered: number;
  /** Attempts of runs interrupted by a fault. */
  readonly interrupted: number;
}

/** @throws AssertionError naming every webhook that was lost or carried out twice */
export async function check(client: GatewayClient, senders: HookSenders, context: string): Promise<Verdict> {
  const said = await whatWasSaid(client);
  const records = await rowsOf<RunRow>(client, "SELECT run_id, status, reason FROM webhook_runs ORDER BY run_id");
  const byId = new Map(records.map((row) => [row.run_id, row]));
  const faults = senders.posted.flatMap((posted) => {
    const fault = faultOf(posted, byId.get(posted.runId ?? ""), said);
    return fault === undefined ? [] : [`${posted.path} ${posted.number} as ${posted.runId}: ${fault}`];
  });
  assert.deepEqual(faults, [], `${context}: lost or doubled`);
  const acknowledged = senders.acknowledged.map(({ runId }) => runId);
  assert.equal(new Set(acknowledged).size, acknowledged.length, `${context}: two webhooks with one run id`);
  const unkeyed = senders.posted.filter(({ key, runId }) => key === undefined && runId === undefined);
  const unanswered = records.length - acknowledged.length;
  assert.ok(unanswered <= unkeyed.length, `${context}: ${unanswered} records nobody asked for`);
  const [cut] = await rowsOf<{ n: number }>(
    client,
    "SELECT count(*) AS n FROM agent_runs WHERE status = 'interrupted'",
  );
  return { turns: said.turns, unanswered, interrupted: cut?.n ?? 0 };
}
