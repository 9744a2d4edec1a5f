import assert from "node:assert/strict";
import { it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { MAX_WAITING } from "../../../plugins/heartbeat/event-store.ts";
import { Room } from "../../../plugins/heartbeat/room.ts";

it("a session that is at most half full is not asked for again at once; a fuller one is, each time", async () => {
  const clock = createFakeClock();
  const occupied = new Map([
    ["roomy", MAX_WAITING / 2],
    ["tight", MAX_WAITING - 1],
  ]);
  let asked = 0;
  const store = { occupied: async (key: string) => (asked++, occupied.get(key) ?? 0) };
  const room = new Room(store, clock);
  for (let turn = 0; turn < 3; turn++) assert.equal(await room.isFull("roomy"), false);
  assert.equal(asked, 1);
  for (let turn = 0; turn < 3; turn++) assert.equal(await room.isFull("tight"), false);
  assert.equal(asked, 4);
  occupied.set("tight", MAX_WAITING).set("roomy", MAX_WAITING);
  assert.equal(await room.isFull("tight"), true);
  assert.equal(await room.isFull("roomy"), false, "the statements refuse what is too much");
  await clock.advance(250);
  assert.equal(await room.isFull("roomy"), true);
});
