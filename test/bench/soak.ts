/**
 * `npm run soak [-- --minutes <n>]`: 30 minutes of mixed load on one gateway after a warm-up of 6, run by hand. Prints heap, RSS, handles and
 * rows each minute. The exit code is 1 when heap, RSS or handles grew by more than 5 % over the last half, or a request failed. Rows only
 * grow by the sent data until their retention ends, so they are printed without a verdict.
 *
 * During the warm-up V8 compiles hot code, and its heap spaces and the arenas of the allocator reach their final size. Two heap snapshots
 * showed no other growth: 3 MiB of heap and 30 MiB of RSS, which the verdict ignores.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { chat } from "@svc/sdk/chat";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { health } from "@svc/sdk/health";
import { sessions } from "@svc/sdk/sessions";
import { storage } from "@svc/sdk/storage";
import { table } from "@svc/sdk/cli";
import { median } from "./figures.ts";
import { startGateway, TOKEN } from "./gateways.ts";
import { modelConfig, startModel } from "./load/model.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "30" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  process.stderr.write(`--minutes ${values.minutes}: must be a number above 0, e.g. --minutes 6\n`);
  process.exit(2);
}
const runMs = minutes * 60_000;
const WARM_UP_MS = 6 * 60_000;
/** A run shorter than 16 minutes is sampled more often, so that each quarter has four samples. */
const sampleMs = Math.min(60_000, runMs / 16);
/** Milliseconds between two requests. */
const PACE_MS = 40;
/** Growth from the third to the fourth quarter that counts as flat. */
const FLAT = 1.05;
/** Handles that a request in flight may add. */
const FEW_HANDLES = 5;
const CHATS = 20;
const HOOK_TOKEN = "hook-token-0123456789abcdef";

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

interface Sample {
  readonly heap: number;
  readonly rss: number;
  readonly handles: number;
  readonly rows: number;
  readonly database: number;
}

await using model = await startModel();
const hooks = { enabled: true, token: HOOK_TOKEN };
await using gateway = await startGateway({ ...modelConfig(model.url, 4), hooks }, { nodeFlags: ["--expose-gc"] });
const client = await connect({ url: gateway.url, token: TOKEN });
const failures = new Map<string, number>();
const samples: Sample[] = [];
const pending = new Set<Promise<void>>();
let sent = 0;

/** The requests, sent in turn. A conversation is reset before it becomes long. */
const KINDS: readonly ((turn: number) => Promise<void>)[] = [
  () => asNewcomer((newcomer) => newcomer.call(health.check, {})),
  async () => void (await client.call(sessions.list, { limit: 20 })),
  (turn) => post("wake", { text: `event ${turn}`, mode: "now" }),
  async (turn) => {
    const sessionKey = `soak-${turn % CHATS}`;
    if (turn % 97 === 0) await client.call(sessions.reset, { key: sessionKey });
    await client.call(chat.send, { sessionKey, message: "short answer", idempotencyKey: `soak-${turn}` });
  },
  async (turn) => void (await client.call(chat.history, { sessionKey: `soak-${turn % CHATS}`, limit: 50 })),
  (turn) => (turn % 4 === 0 ? post("agent", { message: "short answer" }) : Promise.resolve()),
];

const HEAD = ["minute", "heap MiB", "RSS MiB", "handles", "rows", "db MiB", "sent"];

const began = performance.now();
let nextSample = sampleMs;
process.stdout.write(`${cells(HEAD)}\n`);
while (performance.now() - began < WARM_UP_MS + runMs) {
  send();
  await sleep(PACE_MS);
  const ms = performance.now() - began;
  if (ms < nextSample) continue;
  nextSample += sampleMs;
  const taken = await sample();
  if (ms > WARM_UP_MS) samples.push(taken);
}
await Promise.all(pending);
process.exitCode = verdict() ? 0 : 1;
await client.close();

function send(): void {
  const work = KINDS[sent % KINDS.length];
  sent += 1;
  if (!work) return;
  const done = work(sent)
    .catch((error: unknown) => {
      const { message, cause } = error as Error; // thrown by clients and fetch
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
      failures.set(reason, (failures.get(reason) ?? 0) + 1);
    })
    .finally(() => pending.delete(done));
  pending.add(done);
}

async function asNewcomer(work: (newcomer: GatewayClient) => Promise<unknown>): Promise<void> {
  const newcomer = await connect({ url: gateway.url, token: TOKEN });
  try {
    await work(newcomer);
  } finally {
    await newcomer.close();
  }
}

async function post(path: string, body: object): Promise<void> {
  const response = await fetch(`${gateway.url.replace(/^ws/, "http")}/hooks/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.text();
  if (!response.ok) throw new Error(`POST /hooks/${path}: ${response.status}`);
}

async function sample(): Promise<Sample> {
  const { heapBytes: heap, residentBytes: rss, handles } = await gateway.ask("collect");
  const { items, bytes } = await client.call(storage.usage, {});
  const rows = items.reduce((sum, { tables, rows: count }) => sum + (tables.length > 0 ? count : 0), 0);
  const at = ((performance.now() - began) / 60_000).toFixed(1);
  process.stdout.write(
    `${cells([at, mib(heap), mib(rss), String(handles), String(rows), mib(bytes), String(sent)])}\n`,
  );
  return { heap, rss, handles, rows, database: bytes };
}

/** Prints the last half. @returns whether it was flat and nothing failed */
function verdict(): boolean {
  const quarter = Math.floor(samples.length / 4);
  const third = samples.slice(-2 * quarter, -quarter);
  const fourth = samples.slice(-quarter);
  const rows = (["heap", "rss", "handles"] as const).map((name) => {
    const [was = 0, is = 0] = [third, fourth].map((some) => median(some.map((one) => one[name])));
    return { name, growth: is / was, isFlat: is <= was * FLAT || (name === "handles" && is - was <= FEW_HANDLES) };
  });
  const shown = rows.map(({ name, growth, isFlat }) => [
    name,
    `${((growth - 1) * 100).toFixed(1)} %`,
    isFlat ? "flat" : "GROWS",
  ]);
  process.stdout.write(`\n${table([["third to fourth quarter", "", ""], ...shown]).join("\n")}\n`);
  for (const [reason, count] of failures) process.stdout.write(`failed ${count} of ${sent}: ${reason}\n`);
  return rows.every(({ isFlat }) => isFlat) && failures.size === 0;
}

function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}

function cells(row: readonly string[]): string {
  return row.map((cell) => cell.padStart(9)).join(" ");
}
