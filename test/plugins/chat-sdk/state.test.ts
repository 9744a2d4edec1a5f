/** What adapters remember. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { createDelivery, createStates, deliveries } from "../../../plugins/chat-sdk/state.ts";
import { memoryStorage } from "../channels/memory-storage.ts";

function open() {
  const [clock, memory] = [createFakeClock(), memoryStorage()];
  const stateOf = createStates(memory.storage, clock);
  const again = () => createStates(memory.storage, clock)("one");
  return { clock, memory, state: stateOf("one"), other: stateOf("two"), again };
}

const delivery = () => createDelivery(new AbortController().signal);

describe("the state of adapters", () => {
  it("keeps values of each account until they expire", async () => {
    const { state, other, clock, again } = open();
    assert.equal(await state.get("a"), null);
    await state.set("a", { b: [1] });
    await state.set("short", 1, 1_000);
    assert.deepEqual([await again().get("a"), await other.get("a"), await state.get("short")], [{ b: [1] }, null, 1]);
    assert.deepEqual(
      [await state.setIfNotExists("a", 2), await state.setIfNotExists("short", 2, 1_000)],
      [false, false],
    );
    await clock.advance(1_000);
    assert.equal(await state.get("short"), null);
    assert.deepEqual([await state.setIfNotExists("short", 3), await state.get("short")], [true, 3]);
    await state.delete("a");
    assert.deepEqual([await state.get("a"), await state.isSubscribed("any")], [null, true]);
  });

  it("appends to lists one value at a time, and keeps the newest", async () => {
    const { state, again } = open();
    await Promise.all([1, 2, 3, 4].map((value) => state.appendToList("list", value, { maxLength: 3, ttlMs: 1_000 })));
    assert.deepEqual([await again().getList("list"), await state.getList("none")], [[2, 3, 4], []]);
  });

  it("gives a lock to one holder until it ends or expires", async () => {
    const { state, clock } = open();
    const lock = await state.acquireLock("a", 1_000);
    assert.ok(lock);
    assert.equal(await state.acquireLock("a", 1_000), null);
    await clock.advance(999);
    assert.equal(await state.extendLock(lock, 1_000), true);
    await clock.advance(999);
    assert.equal(await state.extendLock({ ...lock, token: "other" }, 1_000), false);
    await state.releaseLock({ ...lock, token: "other" });
    assert.equal(await state.acquireLock("a", 1_000), null);
    await state.releaseLock(lock);
    assert.ok(await state.acquireLock("a", 1_000));
    await clock.advance(1_000);
    assert.ok(await state.acquireLock("a", 1_000));
    await state.forceReleaseLock("a");
    assert.ok(await state.acquireLock("a", 1_000));
  });

  it("stores the claims of a delivery when the gateway has its messages", async () => {
    const { state, again } = open();
    for (const isAccepted of [false, true]) {
      const own = delivery();
      await deliveries.run(own, async () => {
        assert.deepEqual(
          [await state.setIfNotExists("claim", 7), await state.setIfNotExists("claim", 8)],
          [true, false],
        );
        assert.equal(await state.get("claim"), 7);
      });
      assert.equal(await again().get("claim"), null);
      await state.settle(own, isAccepted);
    }
    assert.equal(await again().get("claim"), 7);
    assert.equal(await deliveries.run(delivery(), () => state.setIfNotExists("claim", 9)), false);
    const late = delivery();
    await state.settle(late, true);
    assert.equal(await deliveries.run(late, () => state.setIfNotExists("late", 1)), true);
    assert.equal(await again().get("late"), 1);
  });

  it("refuses what is too large, and keeps the newest entries of an account", async () => {
    const { state, memory, clock } = open();
    const tooLarge = { code: "INVALID_REQUEST" };
    await assert.rejects(state.set("a", "x".repeat(1_000_000)), tooLarge);
    await assert.rejects(state.set("k".repeat(1_001), 1), tooLarge);
    await assert.rejects(state.appendToList("a", "x".repeat(1_000_000)), tooLarge);
    await assert.rejects(state.dequeue("a"), tooLarge);
    await state.set("first", 1);
    memory.database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20500)
      INSERT INTO chat_sdk_state SELECT 'one', 'n' || i, '1', NULL, i FROM n`);
    await clock.advance(1);
    for (let count = 0; count < 500; count++) await state.set(`new${count}`, 1);
    const rows = memory.database.prepare("SELECT COUNT(*) AS count FROM chat_sdk_state").get() as { count: number };
    assert.ok(rows.count >= 20_000 && rows.count <= 20_500, String(rows.count));
    assert.deepEqual([await state.get("first"), await state.get("n20500"), await state.get("n400")], [1, 1, null]);
  });

  it("opens the storage again after a failure", async () => {
    const { memory, clock } = open();
    let failures = 1;
    const migrate: typeof memory.storage.migrate = async (...given) => {
      if (failures-- > 0) throw new Error("the disk is full");
      return memory.storage.migrate(...given);
    };
    const state = createStates({ ...memory.storage, migrate }, clock)("one");
    await assert.rejects(state.get("a"), /the disk is full/);
    assert.equal(await state.get("a"), null);
  });
});
