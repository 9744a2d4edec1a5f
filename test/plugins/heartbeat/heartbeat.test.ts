/** The plugin in a gateway: reporting and waking across failures and restarts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { askedOf, MAIN, openScene, systemOf, until } from "../webhook-scene.ts";
import { event } from "./events.ts";

const limited = { timeout: 120_000 };

describe("heartbeat", limited, () => {
  it("reports an event to the next turn of its session, exactly once", async (t) => {
    const scene = await openScene(t);
    const gateway = await scene.start();
    await gateway.events.add(event("a"));
    assert.equal(await gateway.turn("t1", "agent:main:other"), "ok");
    assert.equal(await gateway.turn("t2"), "ok");
    assert.equal(await gateway.turn("t3"), "ok");
    const told = scene.server.requests.map((request) => systemOf(request).includes("text of a"));
    assert.deepEqual(told, [false, true, false]);
    assert.doesNotMatch((await gateway.outline(MAIN)).join("\n"), /text of a/, "it is no message");
  });

  it("repeats the events of a failed turn", async (t) => {
    const scene = await openScene(t, { replies: [{ status: 400, message: "no" }] });
    const gateway = await scene.start();
    await gateway.events.add(event("a"));
    assert.equal(await gateway.turn("t1"), "error");
    await until(async () => (await gateway.events.waiting(MAIN)).length === 1, "the event to come back");
    assert.equal(await gateway.turn("t2"), "ok");
    const told = scene.server.requests.map((request) => systemOf(request).includes("text of a"));
    assert.deepEqual(told, [true, true]);
    await until(async () => (await gateway.events.waiting(MAIN)).length === 0, "the event to be told");
  });

  it("wakes the session, and waits for a run of it", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "slow", delayMs: 1_500 }, { text: "HEARTBEAT_OK" }] });
    const gateway = await scene.start();
    const turn = gateway.turn("t1");
    await until(() => scene.server.requests.length === 1, "the turn");
    await gateway.events.add(event("a", { wake: "now" }));
    assert.equal(await turn, "ok");
    await until(() => scene.server.requests.length === 2, "the wake");
    const [first, second] = scene.server.requests;
    assert.ok(first && second);
    assert.doesNotMatch(systemOf(first), /text of a/);
    assert.match(systemOf(second), /text of a/);
    assert.match(askedOf(second), /HEARTBEAT_OK/);
  });

  it("repeats a turn that a stop interrupted, and wakes for earlier events", async (t) => {
    const scene = await openScene(t, {
      replies: [{ pieces: ["Half", "way"], hangAfter: 1 }, { text: "HEARTBEAT_OK" }],
    });
    const first = await scene.start();
    await first.events.add(event("a", { wake: "now" }));
    await until(() => scene.server.requests.length === 1, "the first turn");
    await first.gateway.stop();
    const second = await scene.start();
    await until(() => scene.server.requests.length === 2, "the second turn");
    const told = scene.server.requests.map((request) => systemOf(request).includes("text of a"));
    assert.deepEqual(told, [true, true]);
    await until(async () => (await second.events.waiting(MAIN)).length === 0, "the event to be told");
    await until(() => second.runs.active(MAIN).length === 0, "the end");
    assert.doesNotMatch((await second.outline(MAIN)).join("\n"), /assistant: HEARTBEAT_OK/, "it is taken back");
    assert.equal(await second.turn("t1"), "ok");
    assert.doesNotMatch(systemOf(scene.server.requests.at(-1) ?? assert.fail()), /text of a/);
  });

  it("wakes after a restart for stored events that were not announced", async (t) => {
    const scene = await openScene(t, { replies: () => ({ text: "HEARTBEAT_OK" }) });
    const first = await scene.start();
    await first.storage.transaction(first.events.statements(event("a", { wake: "now" })));
    await first.gateway.stop();
    assert.equal(scene.server.requests.length, 0);
    await scene.start();
    await until(() => scene.server.requests.length === 1, "the turn");
  });

  it("accepts more events than may wait, and folds the oldest into one", async (t) => {
    const scene = await openScene(t);
    const gateway = await scene.start();
    const { events, storage } = gateway;
    const many = Array.from({ length: MAX_WAITING }, (_, index) => events.statements(event(`e${index}`)));
    await storage.transaction(many.flat());
    for (let index = 0; index < 100; index += 1) await events.add(event(`more${index}`));
    await until(async () => (await events.waiting(MAIN))[0]?.id.startsWith("folded:") === true, "the summary");
    assert.ok((await events.waiting(MAIN)).length <= MAX_WAITING);
    assert.equal(await gateway.turn("t1"), "ok");
    const told = systemOf(scene.server.requests[0] ?? assert.fail());
    assert.match(told, /^- \[[^\]]+\] 101 older events, .*; the newest: text of e100$/m);
    assert.match(told, /text of e119\n\(980 more will be reported/);
  });
});
