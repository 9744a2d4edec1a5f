/** Phases of hostile behaviour against one gateway; each measures a well-behaved client meanwhile. */
import type { ChildProcess } from "node:child_process";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@svc/sdk/client";
import { percentile } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { modelConfig, startModel } from "../load/model.ts";
import { residentMiB } from "../machine.ts";
import { bench } from "../servers/contract.ts";
import type { Order } from "./attacker.ts";
import { randomFrom, type Target } from "./target.ts";
import { end, start, Watching } from "./watching.ts";

export interface CampaignOptions {
  readonly seed: number;
  /** Names of behaviours, `idle` and `mixed`, in the order they run. */
  readonly phases: readonly { readonly name: string; readonly ms: number }[];
  /** Milliseconds of quiet after each phase. */
  readonly restMs: number;
  onPhase(figures: PhaseFigures): void;
}

export interface PhaseFigures {
  readonly name: string;
  readonly calls: number;
  /** Milliseconds of `health`. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Longest time until `hello-ok`. ms */
  readonly connectMax: number;
  /** Longest delay of the gateway's event loop. ms */
  readonly loopMax: number;
  /** Resident memory in MiB: the maximum during the phase, and the value after its pause. */
  readonly rssMost: number;
  readonly rssAfter: number;
  readonly failures: readonly string[];
}

const LANES = 8;
const ATTACKERS = 2;
const SAMPLE_MS = 100;
/** Interval at which the attackers are paused, and duration of a pause. ms */
const STOP_EVERY_MS = 5_000;
const STOPPED_MS = 1_500;
const HOOK_TOKEN = "hook-token-0123456789abcdef";
const SEED = { sessions: 1_000, messages: 1_000, sessionKey: "agent:main:long" };

/** @returns the warnings and errors that the gateway logged, each with its count */
export async function runCampaign({ seed, phases, restMs, onPhase }: CampaignOptions): Promise<Map<string, number>> {
  const random = randomFrom(seed);
  await using model = await startModel();
  await using gateway = await startGateway({
    ...modelConfig(model.url, 4),
    hooks: { enabled: true, token: HOOK_TOKEN },
    gateway: { bind: "lan", http: { endpoints: { chatCompletions: { enabled: true } } } },
  });
  const { sessionKey } = SEED;
  const target: Target = { url: gateway.url, token: TOKEN, hookToken: HOOK_TOKEN, sessionKey };
  const hostileTarget: Target = { ...target, url: gateway.url.replace("127.0.0.1", ownAddress()) };
  await using client = await connect({ url: gateway.url, token: TOKEN });
  await client.call(bench.seed, SEED);
  const watching = await Watching.start(target);
  const children = new Set<ChildProcess>();
  try {
    for (const { name, ms } of phases) {
      await watching.next();
      await client.call(bench.watchLoop, {});
      const attackers = name === "idle" ? [] : Array.from({ length: ATTACKERS }, (_, index) => index * LANES);
      const hostile = attackers.map((offset) => {
        const order: Order = { target: hostileTarget, behaviour: name, seed: seed + offset, lanes: LANES };
        return start("attacker", order);
      });
      for (const child of hostile) children.add(child);
      const rssMost = await watchMemory(ms, () => {
        const [victim] = hostile;
        if (name === "mixed" && victim && random() < SAMPLE_MS / STOP_EVERY_MS) standStill(victim);
      });
      for (const child of hostile) children.delete(child);
      await Promise.all(hostile.map(end));
      const { calls, connects, failures } = await watching.next();
      const { max: loopMax } = await client.call(bench.loopDelay, {}, { timeoutMs: 60_000 });
      await sleep(restMs);
      onPhase({
        name,
        calls: calls.length,
        p50: percentile(calls, 0.5),
        p99: percentile(calls, 0.99),
        max: Math.max(...calls),
        connectMax: Math.max(...connects),
        loopMax,
        rssMost,
        rssAfter: residentMiB(gateway.pid),
        failures,
      });
    }
    return await complaints();
  } finally {
    await Promise.all([watching.end(), ...[...children].map(end)]);
  }

  async function watchMemory(ms: number, between: () => void): Promise<number> {
    let most = 0;
    for (const end = performance.now() + ms; performance.now() < end; await sleep(SAMPLE_MS)) {
      most = Math.max(most, residentMiB(gateway.pid));
      between();
    }
    return most;
  }

  async function complaints(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const { lines } = (await client.request("logs.tail", { limit: 5_000 })) as { lines: string[] };
    for (const line of lines) {
      const { level, msg = line } = parsed(line);
      if (Number(level) >= 40) counts.set(msg, (counts.get(msg) ?? 0) + 1);
    }
    return counts;
  }
}

/** Hostile clients use another address than the watched client, since limits apply per address. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const own = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (!own) throw new Error("this machine has no IPv4 address but 127.0.0.1; the campaign needs one");
  return own.address;
}

function standStill(child: ChildProcess): void {
  child.kill("SIGSTOP");
  setTimeout(() => child.kill("SIGCONT"), STOPPED_MS).unref();
}

function parsed(line: string): { level?: unknown; msg?: string } {
  try {
    return JSON.parse(line) as { level?: unknown; msg?: string };
  } catch {
    return {};
  }
}
