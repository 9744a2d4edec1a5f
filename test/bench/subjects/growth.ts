/** Ten times the records, same cost: lists of the newest records, and one more webhook. Other subjects have sessions, events and devices. */
import type { GatewayClient } from "@svc/sdk/client";
import { ratioAtLeast, ratioAtMost, type Row } from "../figures.ts";
import { startFilled, TOKEN } from "../gateways.ts";
import { runLoad } from "../load/closed-loop.ts";
import { runHttpLoad } from "../load/http.ts";
import { makeRequests } from "../load/requests.ts";
import { closeAll, openSockets } from "../load/socket.ts";
import { bench } from "../servers/contract.ts";
import { interleave, type Subject } from "../suite.ts";

const SMALL = 1_000;
const LARGE = 10 * SMALL;
const SEED_MS = 60_000;
const HOOK_TOKEN = "hook-token-0123456789abcdef";
const CONFIG = { hooks: { enabled: true, token: HOOK_TOKEN } };
const WAKE = JSON.stringify({ text: "x".repeat(1_000), mode: "next-heartbeat" });
const CONNECTIONS = 16;

const JOB = {
  name: "bench",
  schedule: { kind: "every", everyMs: 86_400_000 },
  sessionTarget: "main",
  wakeMode: "next-heartbeat",
  payload: { kind: "systemEvent", text: "x" },
};

const LISTS: readonly [figure: string, method: string, params: object][] = [
  ["webhooks.runs", "webhooks.runs", { limit: 50 }],
  ["cron.runs", "cron.runs", { scope: "all", limit: 50 }],
  ["exec.approval.list", "exec.approval.list", { limit: 50 }],
];

/** One real record of each kind. */
async function makeEach(client: GatewayClient, url: string): Promise<void> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
  const accepted = await fetch(`${url.replace(/^ws/, "http")}/hooks/wake`, { method: "POST", headers, body: WAKE });
  if (!accepted.ok) throw new Error(`the webhook was refused: ${await accepted.text()}`);
  const { id } = (await client.request("cron.add", JOB)) as { readonly id: string };
  await client.request("cron.run", { id, mode: "force" });
  const asked = client.request("exec.approval.request", { id: "bench", command: "true" });
  for (let decided = false; !decided;)
    decided = await client.request("exec.approval.resolve", { id: "bench", decision: "deny" }).then(
      () => true,
      () => false,
    );
  await asked;
}

const gatewayWith = (records: number) =>
  startFilled(CONFIG, async (client, { url }) => {
    await makeEach(client, url);
    await client.call(bench.copy, { times: records }, { timeoutMs: SEED_MS });
  });

async function latency(url: string, method: string, params: object, ms: number): Promise<number> {
  const sockets = await openSockets({ url, token: TOKEN }, 1);
  try {
    return (await runLoad(sockets, makeRequests(method, params), { inFlight: 1, ms })).p50;
  } finally {
    closeAll(sockets);
  }
}

export const growth: Subject = {
  name: "growth",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using small = await gatewayWith(SMALL);
    await using large = await gatewayWith(LARGE);
    const rows: Row[] = [];
    const against = `ours, ${SMALL.toLocaleString("en-US")} records`;
    const measured = async (work: (url: string, ms: number) => Promise<number>) => {
      const contenders = (ms: number) => ({ small: () => work(small.url, ms), large: () => work(large.url, ms) });
      await interleave(1, contenders(warmUpMs));
      const taken = await interleave(rounds, contenders(windowMs));
      return { ours: taken.large, bare: { name: against, rounds: taken.small } };
    };
    const with10 = `${LARGE.toLocaleString("en-US")} records`;
    for (const [figure, method, params] of LISTS) {
      const taken = await measured((url, ms) => latency(url, method, params, ms));
      rows.push({
        subject: "growth",
        figure: `${figure}, 50 of ${with10}, p50`,
        unit: "ms",
        ...taken,
        target: ratioAtMost(1.2),
      });
    }
    const wake = await measured(
      async (url, ms) =>
        (
          await runHttpLoad({
            url: url.replace(/^ws/, "http"),
            path: "/hooks/wake",
            body: WAKE,
            connections: CONNECTIONS,
            ms,
            token: HOOK_TOKEN,
          })
        ).perSecond,
    );
    rows.push({
      subject: "growth",
      figure: `one more webhook beside ${with10}`,
      unit: "/s",
      ...wake,
      target: ratioAtLeast(0.9),
    });
    return rows;
  },
};
