/**
 * `kill -9` at a random moment between a message of a chat network and the answer: every message is answered. Networks that
 * recognize a repeated message show each answer once; for the others, the number of repetitions is printed.
 *
 * SVC_FAULT_ROUNDS sets the number of kills for each network (default 4), SVC_FAULT_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { NETWORKS } from "../plugins/channels/networks.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { until } from "../until.ts";
import { createRandom, pause, ROUNDS, SEED } from "./workload.ts";

/** Milliseconds after the message within which the gateway is killed: its answer takes about that long. */
const LATEST_KILL_MS = 150;
const PATIENCE_MS = 30_000;

for (const [name, start] of Object.entries(NETWORKS)) {
  it(`${name}: no message is lost in ${ROUNDS} kills`, { timeout: 600_000 }, async (t) => {
    const network = await start(t);
    const stateDir = await mkdtemp(join(tmpdir(), "svc-channel-kill-"));
    t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
    const section = { ...network.settings, ...network.login, allowFrom: [network.person], streaming: "off" };
    const config = {
      agents: { defaults: { skipBootstrap: true } },
      "provider-offline": { wordDelayMs: 10 },
      messages: { queue: { mode: "followup", debounceMs: 0 } }, // waiting messages would be answered together
      channels: { [name]: section },
    };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
    const random = createRandom(SEED);
    const answered = (round: number) => network.heard().filter((text) => text === `answer ${round} is complete`).length;
    for (let round = 0; round < ROUNDS; round++) {
      const gateway = await startGatewayProcess(stateDir);
      if (round === 0 || network.taken) await connected(gateway);
      const takenBefore = network.taken?.() ?? 0;
      network.says(`echo answer ${round} is complete`);
      if (network.taken) await until(() => (network.taken?.() ?? 0) > takenBefore, `message ${round}`, PATIENCE_MS);
      await pause(random() * LATEST_KILL_MS);
      await gateway.kill();
    }
    const last = await startGatewayProcess(stateDir);
    t.after(() => last.kill());
    for (let round = 0; round < ROUNDS; round++)
      await until(() => answered(round) > 0, `the answer ${round} (seed ${SEED})`, PATIENCE_MS);
    const ids = network.sentIds?.();
    const total = Array.from({ length: ROUNDS }, (_, round) => answered(round)).reduce((sum, count) => sum + count, 0);
    t.diagnostic(`${name}: ${total - ROUNDS} of ${ROUNDS} answers were sent twice${ids ? ", with the same id" : ""}`);
    if (ids) assert.equal(new Set(ids).size, ROUNDS, "a repetition has the id of the first attempt");
  });
}

/** Waits until the account is connected. */
async function connected(gateway: Awaited<ReturnType<typeof startGatewayProcess>>): Promise<void> {
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
