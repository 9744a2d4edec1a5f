/** The fuzzed gateway: the full bundle in its own process, with a secret that must never leak. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as fc from "fast-check";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { root } from "../checkout.ts";
import { cleanEnvironment } from "../gateway-process.ts";
import { HOOK_ACTION, probe } from "./probe-plugin.ts";
import { exchange, inParallel } from "./raw-tcp.ts";

/** Inputs per test; `.ci/run` sets 100,000. */
export const RUNS = Number(process.env["SVC_FUZZ_RUNS"] ?? 1_500);
/** Printed with every failure, to reproduce it. */
export const SEED = Number(process.env["SVC_FUZZ_SEED"] ?? Date.now() % 2_147_483_647);

export const TOKEN = "canary-token-7f3b9c51e2d84a06";
export const HOOK_TOKEN = "canary-hook-2ac94d1be6f07835";
const API_KEY = "canary-key-91d0c2e4b7a35f68";
const CANARIES = [TOKEN, HOOK_TOKEN, API_KEY];

/** Mappings by path, payload, header and signature, and with a template. */
const MAPPINGS = [
  {
    match: { path: "mapped", source: "fuzz", when: { "a.b[0].c": { exists: false } } },
    action: HOOK_ACTION,
    text: "{{text}} {{a}} {{list[0].x}} {{query.q}} {{path}} {{headers.x-event}}",
    sessionKey: "hook:{{text}}",
    idempotencyKey: "{{id}}",
  },
  { match: { path: "mapped", headers: { "x-event": "push" } }, action: HOOK_ACTION, text: "{{payload.a}}" },
  { match: { path: "signed" }, action: HOOK_ACTION, verify: { type: "github", secret: "canary-signing-secret-51" } },
  { match: { path: "deep/er" }, action: HOOK_ACTION, text: "{{text}}" },
];

/** Maximum heap growth in bytes after a garbage collection. */
const GROWTH = 24 * 1_048_576;

export interface Victim {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  client(): Promise<GatewayClient>;
  /** Asserts that it still runs, has not grown, has no polluted prototype, and logged no secret. */
  assertUnharmed(): Promise<void>;
  stop(): Promise<void>;
}

/** @param trustedProxies proxies whose client headers are trusted; default: none */
export async function startVictim(trustedProxies: readonly string[] = []): Promise<Victim> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-fuzz-"));
  const config = {
    gateway: { auth: { token: TOKEN, rateLimit: { exemptLoopback: true } }, trustedProxies },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: MAPPINGS,
      presets: ["github"],
      maxBodyBytes: 16_384,
      allowedSessionKeyPrefixes: ["hook:"],
    },
    plugins: { load: { paths: [join(root, ".build/test/fuzz/probe-plugin.js")] } },
    models: { providers: { canary: { baseUrl: "http://127.0.0.1:9/v1", apiKey: API_KEY, models: [{ id: "m" }] } } },
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const child = spawn(
    process.execPath,
    ["--expose-gc", join(root, "host/cli/svc.js"), "gateway", "run", "--port", "0", "--json", "--log-level", "debug"],
    { env: cleanEnvironment(stateDir), stdio: ["ignore", "pipe", "pipe"] },
  );
  let leaked = "";
  let tail = "";
  child.stderr.on("data", (chunk: Buffer) => {
    const text = tail.slice(-64) + chunk.toString();
    if (CANARIES.some((canary) => text.includes(canary))) leaked ||= text.slice(0, 2_000);
    tail = (tail + chunk.toString()).slice(-4_000);
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let code: number | null | undefined;
  void exited.then((value) => (code = value));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    void exited.then((value) => reject(new Error(`the gateway ended with ${value}: ${tail}`)));
  });
  const { url } = JSON.parse(line) as { url: string };
  const client = () => connect({ url, token: TOKEN });
  const look = async () => {
    await using prober = await client();
    return await prober.call(probe.probe, {}, { timeoutMs: 20_000 });
  };
  const before = await look();
  return {
    url,
    port: Number(new URL(url.replace(/^ws/, "http")).port),
    child,
    client,
    async assertUnharmed() {
      assert.equal(code, undefined, `the gateway ended with ${code}; seed ${SEED}: ${tail}`);
      const after = await look();
      assert.deepEqual(after.polluted, [], `a prototype was changed; seed ${SEED}`);
      const grown = after.heapUsed - before.heapUsed;
      assert.ok(grown < GROWTH, `the heap grew by ${Math.round(grown / 1_024)} KiB; seed ${SEED}`);
      assert.equal(leaked, "", `a secret came out in the log; seed ${SEED}`);
    },
    async stop() {
      child.kill("SIGKILL");
      await exited;
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

const BATCH = 500;

/** Batches of random inputs. */
export function* batches<T>(arbitrary: fc.Arbitrary<T>, runs = RUNS): Generator<T[]> {
  for (let done = 0; done < runs; done += BATCH)
    yield fc.sample(arbitrary, { numRuns: Math.min(BATCH, runs - done), seed: SEED + done });
}

/** Sends each input over its own connection, checks the answer, and asserts that none hangs and the gateway is unharmed. */
export async function fuzz<T>(
  victim: Victim,
  arbitrary: fc.Arbitrary<T>,
  toBytes: (input: T) => Buffer,
  check: (answer: string, input: T) => void,
  { runs = RUNS, endAfterMs = 0 } = {},
): Promise<void> {
  let hung = 0;
  for (const batch of batches(arbitrary, runs))
    await inParallel(batch, 32, async (input) => {
      const { answer, hung: stuck } = await exchange(victim.port, toBytes(input), endAfterMs);
      check(answer, input);
      if (stuck) hung++;
    });
  assert.equal(hung, 0, `connections were left hanging; seed ${SEED}`);
  await victim.assertUnharmed();
}
