/**
 * Three gateways on one database behind a load balancer are replaced one after the other with `svc gateway drain`, under load: clients come back at
 * others, no run is interrupted, and no acknowledged webhook or message is lost. Spec: design/scaleout.md, S-09.
 *
 * SVC_FAULT_CLIENTS sets how many clients are connected (default 60).
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { isGatewayError } from "@svc/sdk/errors";
import { health } from "@svc/sdk/health";
import { withoutPostgres } from "../postgres.ts";
import { svc } from "../run-svc.ts";
import { balancer } from "./balancer.ts";
import { startGateways } from "./gateways.ts";
import { check, drained } from "./hook-checks.ts";
import { openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const CLIENTS = Number(process.env["SVC_FAULT_CLIENTS"] ?? 60);
/** Clients that chat; the others listen. */
const TALKING = 6;
const TOKEN = "token-of-all-gateways";

/** Sends messages until `over`, each until it is answered. @returns ids of the runs */
async function talk(client: GatewayClient, name: string, over: AbortSignal, refusals: string[]): Promise<string[]> {
  const runs: string[] = [];
  for (let count = 0; !over.aborted; count += 1) {
    const runId = `${name}-${count}`;
    const message = { sessionKey: `agent:main:${name}`, message: `echo ${runId}`, idempotencyKey: runId };
    for (;;)
      try {
        await client.call(chat.send, message);
        const { status } = await client.call(agents.wait, { runId, timeoutMs: 30_000 });
        if (status === "timeout") continue;
        assert.equal(status, "ok", runId);
        break;
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
        refusals.push(error.message);
        await pause(50); // its connection was closed
      }
    runs.push(runId);
    await pause(100);
  }
  return runs;
}

it("three gateways are replaced under load", { timeout: 600_000, skip: withoutPostgres() }, async (t) => {
  const { stateDir, model } = await openHookScene(t, createRandom(SEED));
  const senders = new HookSenders(model.seen);
  const envOf = () => ({ SVC_GATEWAY_TOKEN: TOKEN });
  const gateways = await startGateways(t, 3, stateDir, { envOf, token: TOKEN });
  const port = await balancer(t, () => gateways.origins());
  /** Clients that were told of a gap: more than 1,000 events while they were away cannot be repeated. */
  const gaps: string[] = [];
  let reconnects = 0;
  const open = async (name: string) => {
    const client = await connect({ url: `ws://127.0.0.1:${port}`, token: TOKEN, reconnect: true });
    t.after(() => client.close());
    client.onGap(() => void gaps.push(name));
    client.onReconnect(() => (reconnects += 1));
    return client;
  };
  const listeners = await Promise.all(
    Array.from({ length: CLIENTS - TALKING }, (_, index) => open(`listener ${index}`)),
  );
  const talkers = await Promise.all(Array.from({ length: TALKING }, (_, index) => open(`talker ${index}`)));
  const over = new AbortController();
  senders.origin = `http://127.0.0.1:${port}`;
  const sending = senders.run(over.signal);
  const refusals: string[] = [];
  const talking = talkers.map((client, index) => talk(client, `talker${index}`, over.signal, refusals));
  const times: number[] = [];
  const measuring = (async () => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      const begun = performance.now();
      const client = listeners[index % listeners.length];
      if (
        await client?.call(health.status, {}).then(
          () => true,
          () => false,
        )
      )
        times.push(performance.now() - begun);
      await pause(5);
    }
  })();
  for (const number of [0, 1, 2]) {
    await pause(1_500);
    const begun = performance.now();
    const left = await svc(gateways.directories[number] ?? "", ["gateway", "drain"]);
    t.diagnostic(`gateway ${number} drained after ${Math.round(performance.now() - begun)} ms`);
    assert.equal(left.code, 0, left.text);
    assert.match(left.text, /clients.* left; 2 other gateways go on/);
    assert.match(left.text, /was stopped/);
    await gateways.start(number);
  }
  await pause(1_000);
  over.abort();
  await Promise.all([sending, measuring]);
  const runs = (await Promise.all(talking)).flat();
  const checker = await open("checker");
  await drained(checker, "rolling");
  await senders.repeatAll();
  await drained(checker, "rolling");
  const { interrupted } = await check(checker, senders, "rolling");
  assert.equal(interrupted, 0, "runs ended where they had begun");
  assert.deepEqual(
    senders.wrong.filter((said) => !/was not answered|: 503 /.test(said)), // on a kept connection, of which this balancer knows nothing
    [],
  );
  assert.ok(reconnects >= CLIENTS, `every client came back: ${reconnects}`);
  assert.deepEqual(
    refusals.filter((said) => !/connection|not connected/i.test(said)),
    [],
    "messages that a leaving gateway refused",
  );
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
  t.diagnostic(
    `${gaps.length} of ${reconnects} reconnects with a gap, ${runs.length} messages, ${senders.acknowledged.length} webhooks, ${reconnects} reconnects of ${CLIENTS} clients`,
  );
  t.diagnostic(`${sorted.length} calls: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; ${refusals.length} calls were repeated`);
});
