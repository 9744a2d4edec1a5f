/**
 * Three gateways on one database, of which one cannot reach it for a while: the others take over, what it had acknowledged is carried out once, it
 * acknowledges nothing meanwhile, and it works again afterwards. Spec: design/scaleout.md, S-05.
 *
 * SVC_FAULT_SECONDS sets how long it is cut off (default 25).
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { emptySchema, withoutPostgres } from "../postgres.ts";
import { until } from "../until.ts";
import { startGateways } from "./gateways.ts";
import { check, drained } from "./hook-checks.ts";
import { HOOK_TOKEN, openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { pausingProxy } from "./pausing-proxy.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const SECONDS = Math.max(25, Number(process.env["SVC_FAULT_SECONDS"] ?? 25)); // longer than a lease, and than a call

it(
  `a gateway without its database for ${SECONDS} s does no harm, and works again`,
  { timeout: 600_000, skip: withoutPostgres() },
  async (t) => {
    const random = createRandom(SEED);
    const { stateDir, model } = await openHookScene(t, random);
    const senders = new HookSenders(model.seen);
    const url = await emptySchema();
    const direct = new URL(url);
    const proxy = await pausingProxy(t, { host: direct.hostname, port: Number(direct.port) });
    const through = new URL(url);
    through.hostname = "127.0.0.1";
    through.port = String(proxy.port);
    const envOf = (number: number) => ({ SVC_DATABASE_URL: number === 0 ? through.href : url });
    const gateways = await startGateways(t, 3, stateDir, { envOf, url });
    const [cutOff, second, third] = gateways.origins();
    const client = (await gateways.running[0]?.connect()) ?? assert.fail();
    t.after(() => client.close());
    const over = new AbortController();
    senders.origin = cutOff;
    const sending = senders.run(over.signal);
    await pause(2_000);
    assert.ok(senders.acknowledged.length > 0, "it had acknowledged some");

    senders.origin = undefined; // what it has not answered yet, it may or may not have accepted
    proxy.pause();
    senders.origin = second;
    const begun = performance.now();
    const statuses = new Set<number | string>();
    const post = async () =>
      fetch(`${cutOff}/hooks/wake`, {
        method: "POST",
        headers: { authorization: `Bearer ${HOOK_TOKEN}`, "idempotency-key": "while cut off" },
        body: JSON.stringify({ text: "wake-0; cut off", mode: "now" }),
        signal: AbortSignal.timeout(20_000),
      }).then(
        ({ status }) => statuses.add(status),
        (error: Error) => statuses.add(error.name),
      );
    while (performance.now() - begun < SECONDS * 1_000) {
      await Promise.race([post(), pause(2_000)]);
      senders.origin = senders.origin === second ? third : second;
    }
    assert.ok(!statuses.has(200), `it acknowledged a webhook: ${[...statuses].join(", ")}`);
    assert.ok(statuses.has(503), `it did not refuse webhooks: ${[...statuses].join(", ")}`);
    const other = (await gateways.running[1]?.connect()) ?? assert.fail();
    t.after(() => other.close());
    await other.call(chat.send, { sessionKey: "main", message: "while cut off", idempotencyKey: "other" });
    assert.equal((await other.call(agents.wait, { runId: "other", timeoutMs: 60_000 })).status, "ok");

    proxy.resume();
    const again = async () => (await gateways.running[0]?.connect()) ?? assert.fail();
    await until(async () => {
      const one = await again();
      const sent = await one.call(chat.send, { sessionKey: "main", message: "healed", idempotencyKey: "healed" }).then(
        () => true,
        () => false,
      );
      await one.close();
      return sent;
    }, "it works again");
    t.diagnostic(`it worked again ${Math.round(performance.now() - begun - SECONDS * 1_000)} ms after the end`);
    senders.origin = cutOff;
    await pause(2_000);
    over.abort();
    await sending;
    const checker = await again();
    t.after(() => checker.close());
    assert.equal((await checker.call(agents.wait, { runId: "healed", timeoutMs: 60_000 })).status, "ok");
    await drained(checker, "partition");
    await senders.repeatAll();
    await drained(checker, "partition");
    const { turns, interrupted } = await check(checker, senders, "partition");
    const wrong = senders.wrong.filter((said) => !/was not answered|: 503 /.test(said)); // at the moment of the cut
    assert.deepEqual(wrong, []);
    t.diagnostic(
      `${senders.acknowledged.length} of ${senders.posted.length} acknowledged, ${turns} turns, ${interrupted} interrupted`,
    );
  },
);
