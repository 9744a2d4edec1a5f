/**
 * `kill -9` at random moments while senders continuously post webhooks: no acknowledged one is lost, and none is carried out
 * twice. Spec: design/reliability.md line 4.
 *
 * The senders keep a history; at the end a checker compares it with the stored records. SVC_FAULT_SECONDS sets how long they
 * post (default 16), SVC_FAULT_SEED repeats the moments of the kills.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { check, drained } from "./hook-checks.ts";
import { openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const SECONDS = Number(process.env["SVC_FAULT_SECONDS"] ?? 16);
/** Maximum lifetime of a gateway in milliseconds, from its first response. */
const LONGEST_LIFE_MS = 1_500;

it(`no webhook is lost or carried out twice in ${SECONDS} s of kills`, { timeout: 600_000 }, async (t) => {
  const random = createRandom(SEED);
  const { stateDir, model, server } = await openHookScene(t, random);
  const senders = new HookSenders(model.seen);
  let running: GatewayProcess = await startGatewayProcess(stateDir);
  t.after(() => running.kill().then(() => undefined));
  const over = new AbortController();
  const sending = senders.run(over.signal);
  const origin = ({ url }: GatewayProcess) => url.replace(/^ws/, "http");
  senders.origin = origin(running);
  let kills = 0;
  for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; kills++) {
    await pause(random() * LONGEST_LIFE_MS);
    senders.origin = undefined;
    await running.kill();
    running = await startGatewayProcess(stateDir);
    senders.origin = origin(running);
  }
  over.abort();
  await sending;
  const context = `seed ${SEED}, ${kills} kills`;
  const checker = await running.connect();
  await drained(checker, context);
  await senders.repeatAll();
  await drained(checker, context);
  const { turns, unanswered, interrupted } = await check(checker, senders, context);
  assert.deepEqual(senders.wrong, [], context);

  const { posted, acknowledged, cutOff, repeats } = senders;
  const replayed = posted.filter((one) => one.replayed).length;
  t.diagnostic(
    `${context}; ${acknowledged.length} of ${posted.length} webhooks acknowledged, ${cutOff} attempts cut off`,
  );
  t.diagnostic(`of those cut off ${replayed} had been accepted and were found by their key, ${unanswered} without one`);
  t.diagnostic(`${repeats} keys sent again: the same run each time`);
  t.diagnostic(`${turns} turns completed, ${interrupted} interrupted, ${server.requests.length} model questions`);
  assert.ok(kills > 0 && acknowledged.length > 0, "there was something to lose");
});
