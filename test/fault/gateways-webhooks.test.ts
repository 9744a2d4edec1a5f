/**
 * Webhooks posted to three gateways on one database while one after the other is killed or suspended for longer than its lease: no acknowledged one is
 * lost, and none is carried out twice. Spec: design/scaleout.md, S-02 and S-03.
 *
 * SVC_FAULT_SECONDS sets how long they are posted (default 40), SVC_FAULT_SEED repeats the faults.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { withoutPostgres } from "../postgres.ts";
import { startGateways } from "./gateways.ts";
import { check, drained } from "./hook-checks.ts";
import { openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const SECONDS = Number(process.env["SVC_FAULT_SECONDS"] ?? 40);
const SUSPENDED_MS = 14_000;

it(
  `no webhook is lost or carried out twice by three gateways in ${SECONDS} s of faults`,
  { timeout: 600_000, skip: withoutPostgres() },
  async (t) => {
    const random = createRandom(SEED);
    const { stateDir, model } = await openHookScene(t, random);
    const senders = new HookSenders(model.seen);
    senders.refused = 0; // by a gateway that has lost its lease, e.g. because this machine is busy
    const gateways = await startGateways(t, 3, stateDir);
    const over = new AbortController();
    const turnTo = () => {
      const origins = gateways.origins();
      senders.origin = origins[Math.floor(random() * origins.length)];
    };
    turnTo();
    const sending = senders.run(over.signal);
    let kills = 0;
    let suspensions = 0;
    let resume = () => {};
    let resumeAt = 0;
    for (const end = performance.now() + SECONDS * 1_000; performance.now() < end;) {
      await pause(random() * 1_500);
      const number = Math.floor(random() * 3);
      senders.origin = undefined;
      if (performance.now() > resumeAt) {
        resume();
        resume = gateways.suspend(number);
        resumeAt = performance.now() + SUSPENDED_MS;
        suspensions += 1;
      } else if (gateways.origins().length === 3 || random() < 0.5) {
        await gateways.kill(number);
        await gateways.start(number);
        kills += 1;
      }
      turnTo();
    }
    resume();
    over.abort();
    await sending;
    const context = `seed ${SEED}, ${kills} kills, ${suspensions} suspensions`;
    const checker = (await gateways.running[0]?.connect()) ?? assert.fail();
    await drained(checker, context);
    await senders.repeatAll();
    await drained(checker, context);
    const { turns, unanswered, interrupted } = await check(checker, senders, context);
    assert.deepEqual(senders.wrong, [], context);
    const { posted, acknowledged, cutOff, refused } = senders;
    t.diagnostic(
      `${context}; ${acknowledged.length} of ${posted.length} acknowledged, ${cutOff} attempts cut off, ${refused} refused and repeated`,
    );
    t.diagnostic(`${turns} turns completed, ${interrupted} interrupted, ${unanswered} carried out without an answer`);
    assert.ok(kills > 0 && suspensions > 0 && acknowledged.length > 0, "there was something to lose");
  },
);
