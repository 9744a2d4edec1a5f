/**
 * `kill -9` at a random moment after somebody has written in a chat network: before the gateway is connected, while it reads
 * the message, or while it answers. Every message is answered. Networks that recognize a repeated message show each answer
 * once; for the others, the number of repetitions is printed.
 *
 * SVC_FAULT_ROUNDS sets three times the number of kills for each network (default 4): the networks share most of the code.
 * SVC_FAULT_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { NETWORKS } from "../plugins/channels/networks.ts";
import { logIn, type TestNetwork } from "../plugins/channels/test-network.ts";
import { bundledPlugins, root } from "../checkout.ts";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { until } from "../until.ts";
import { createRandom, pause, ROUNDS, SEED } from "./workload.ts";

/** Milliseconds after the message within which the gateway is killed: its answer takes about that long. */
const LATEST_KILL_MS = 150;
/** Milliseconds that an account needs to connect after the start of the gateway, at most. */
const LATEST_CONNECTION_MS = 1_000;
const PATIENCE_MS = 30_000;
/** Half of the kills with each. */
const STREAMING = ["off", "draft"] as const;
type Streaming = (typeof STREAMING)[number];
const KILLS = Math.ceil(ROUNDS / 3 / STREAMING.length);
const COMMON = {
  agents: { defaults: { skipBootstrap: true } },
  "provider-offline": { wordDelayMs: 10 },
  messages: { queue: { mode: "followup", debounceMs: 0 } }, // waiting messages would be answered together
};

/** Different numbers with each streaming, of one form: networks look for it. */
const answerOf = (streaming: Streaming, round: number) =>
  `answer ${STREAMING.indexOf(streaming) * KILLS + round} is complete`;

const BUNDLED = bundledPlugins();

for (const [name, start] of Object.entries(NETWORKS))
  it(`${name}: no message is lost in ${KILLS} kills with each streaming`, { timeout: 900_000 }, async (t) => {
    const network = await start(t);
    const stateDir = await mkdtemp(join(tmpdir(), "svc-channel-kill-"));
    t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
    const login = network.written ?? network.login;
    const write = (streaming: Streaming, isFirst = false) => {
      const known = isFirst && network.keepsLogin ? {} : login;
      const own = { ...network.settings, ...known, allowFrom: [network.person], streaming };
      const config = { ...COMMON, channels: { [network.id]: own } };
      return writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
    };
    const begin = async () => {
      const gateway = await startGatewayProcess(stateDir);
      network.meets?.(gateway.url.replace(/^ws/, "http"));
      return gateway;
    };
    await write("off", true);
    if (!BUNDLED.includes(`@svc/plugin-${name}`)) {
      const plugin = join(root, "plugins", name);
      const { code, text } = await svc(stateDir, ["plugins", "install", plugin, "--link", "--yes"]);
      assert.equal(code, 0, text);
    }
    const random = createRandom(SEED);
    const heard = (streaming: Streaming, round: number) =>
      network.heard().filter((text) => text === answerOf(streaming, round)).length;
    const rounds = Array.from({ length: KILLS }, (_, round) => round);
    let running = await begin();
    t.after(() => running.kill());
    if (network.keepsLogin) await loggedIn(running, network);
    await connected(running); // no network keeps messages for a bot that it does not know
    for (const streaming of STREAMING) {
      await write(streaming);
      await running.kill("SIGTERM");
      const idsBefore = new Set(network.sentIds?.()).size;
      for (const round of rounds) {
        running = await begin();
        const isEarly = round % 2 === 1;
        if (!isEarly) await connected(running);
        network.says(`echo ${answerOf(streaming, round)}`);
        await pause(random() * (isEarly ? LATEST_CONNECTION_MS : LATEST_KILL_MS));
        await running.kill();
      }
      running = await begin();
      for (const round of rounds)
        await until(
          () => heard(streaming, round) > 0,
          `"${answerOf(streaming, round)}" (streaming ${streaming}, seed ${SEED})`,
          PATIENCE_MS,
        );
      const ids = network.sentIds?.();
      if (ids) assert.equal(new Set(ids).size - idsBefore, KILLS, "a repetition has the id of the first attempt");
      if (streaming === "draft") continue; // the edits of one answer have its text, too
      const total = rounds.reduce((sum, round) => sum + heard(streaming, round), 0);
      t.diagnostic(`${name}: ${total - KILLS} of ${KILLS} answers were sent twice${ids ? ", with the same id" : ""}`);
    }
  });

async function loggedIn(gateway: GatewayProcess, network: TestNetwork): Promise<void> {
  const client = await gateway.connect();
  try {
    await logIn(client, network, network.login);
  } finally {
    await client.close();
  }
}

/** Waits until the account is connected. */
async function connected(gateway: GatewayProcess): Promise<void> {
  const client = await gateway.connect();
  try {
    const isConnected = async () => {
      const { channelAccounts } = (await client.request("channels.status", {})) as {
        channelAccounts: Record<string, { connected?: boolean }[]>;
      };
      return Object.values(channelAccounts).some((accounts) => accounts[0]?.connected === true);
    };
    await until(isConnected, "the connection", PATIENCE_MS);
  } finally {
    await client.close();
  }
}
