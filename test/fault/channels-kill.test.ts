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
import { channelPlugins, root } from "../checkout.ts";
import { startGatewayProcess } from "../gateway-process.ts";
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
const KILLS = Math.ceil(ROUNDS / 3 / STREAMING.length);

const OUTSIDE = new Set(channelPlugins().flatMap(({ plugin, isBundled }) => (isBundled ? [] : [plugin])));

for (const [name, start] of Object.entries(NETWORKS))
  for (const streaming of STREAMING)
    it(`${name}: no message is lost in ${KILLS} kills, streaming ${streaming}`, { timeout: 600_000 }, async (t) => {
      const network = await start(t);
      const stateDir = await mkdtemp(join(tmpdir(), "svc-channel-kill-"));
      t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
      const section = {
        ...network.settings,
        ...(network.written ?? network.login),
        allowFrom: [network.person],
        streaming,
      };
      const config = {
        agents: { defaults: { skipBootstrap: true } },
        "provider-offline": { wordDelayMs: 10 },
        messages: { queue: { mode: "followup", debounceMs: 0 } }, // waiting messages would be answered together
        channels: { [network.id]: section },
      };
      await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
      if (OUTSIDE.has(name)) {
        const { code, text } = await svc(stateDir, [
          "plugins",
          "install",
          join(root, "plugins", name),
          "--link",
          "--yes",
        ]);
        assert.equal(code, 0, text);
      }
      const begin = async () => {
        const gateway = await startGatewayProcess(stateDir);
        network.meets?.(gateway.url.replace(/^ws/, "http"));
        return gateway;
      };
      const first = await begin();
      await connected(first); // no network keeps messages for a bot that it does not know
      await first.kill("SIGTERM");
      const random = createRandom(SEED);
      const answered = (round: number) =>
        network.heard().filter((text) => text === `answer ${round} is complete`).length;
      for (let round = 0; round < KILLS; round++) {
        const gateway = await begin();
        const isEarly = round % 2 === 1;
        if (!isEarly) await connected(gateway);
        network.says(`echo answer ${round} is complete`);
        await pause(random() * (isEarly ? LATEST_CONNECTION_MS : LATEST_KILL_MS));
        await gateway.kill();
      }
      const last = await begin();
      t.after(() => last.kill());
      for (let round = 0; round < KILLS; round++)
        await until(() => answered(round) > 0, `the answer ${round} (seed ${SEED})`, PATIENCE_MS);
      const ids = network.sentIds?.();
      if (ids) assert.equal(new Set(ids).size, KILLS, "a repetition has the id of the first attempt");
      if (streaming === "draft") return; // the edits of one answer have its text, too
      const total = Array.from({ length: KILLS }, (_, round) => answered(round)).reduce((sum, count) => sum + count, 0);
      t.diagnostic(`${name}: ${total - KILLS} of ${KILLS} answers were sent twice${ids ? ", with the same id" : ""}`);
    });

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
