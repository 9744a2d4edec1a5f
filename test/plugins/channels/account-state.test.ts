/** What accounts remember: read once, written in order, and only by the owner of the account. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Type } from "@svc/sdk";
import { openAccountState } from "@svc/sdk/channels";
import { createFakeClock } from "@svc/sdk/testing";
import type { AccountRun } from "../../../plugins/channels/accounts/account.ts";
import { createStateStore } from "../../../plugins/channels/accounts/state-store.ts";
import { OpenStorage } from "../../../plugins/channels/open-storage.ts";
import { memoryStorage } from "./memory-storage.ts";

const Read = Type.Object({ read: Type.Integer() });

function scene() {
  const memory = memoryStorage();
  const owned = { isOwner: true };
  const holds = () => ({ sql: owned.isOwner ? "1 = 1" : "1 = 0", params: [] });
  const recordOf = createStateStore(new OpenStorage(memory.storage), { holds }, createFakeClock());
  const record = (id = "a", isShared = false) =>
    recordOf({ channel: "pigeon", id, account: { id, isShared, settings: {} } } as unknown as AccountRun); // all that it uses
  return {
    memory,
    owned,
    record,
    open: (id?: string, isShared?: boolean) => openAccountState(Read, record(id, isShared)),
  };
}

describe("the state of an account", () => {
  it("is there for the next run, and apart from that of other accounts", async () => {
    const { open } = scene();
    const first = await open();
    assert.equal(first.value, undefined);
    await first.write({ read: 7 });
    assert.deepEqual(
      [first.value, (await open()).value, (await open("b")).value],
      [{ read: 7 }, { read: 7 }, undefined],
    );
  });

  it("counts as none if it is damaged, or matches another schema", async () => {
    const { open, record } = scene();
    for (const text of ["", "{", "null", '{"read":"7"}']) {
      await record().write(text);
      assert.equal((await open()).value, undefined, text);
    }
  });

  it("is the last of concurrent writes, and is not written again unless it differs", async () => {
    const { open, memory } = scene();
    const state = await open();
    await Promise.all([1, 2, 3, 3].map((read) => state.write({ read })));
    assert.deepEqual((await open()).value, { read: 3 });
    const { writes } = memory;
    await state.write({ read: 3 });
    assert.equal(memory.writes, writes);
  });

  it("is written again after a refusal", async () => {
    const { open, memory } = scene();
    const state = await open();
    memory.fault = () => ({ when: "before", error: () => new Error("full") });
    await assert.rejects(state.write({ read: 1 }), /full/);
    memory.fault = () => undefined;
    await state.write({ read: 1 });
    assert.deepEqual((await open()).value, { read: 1 });
  });

  it("changes only by the owner of the account; each gateway changes that of a shared one", async () => {
    const { open, owned } = scene();
    const state = await open();
    await state.write({ read: 1 });
    owned.isOwner = false;
    await assert.rejects(state.write({ read: 2 }), { code: "CONFLICT" });
    assert.deepEqual((await open()).value, { read: 1 });
    await (await open("b", true)).write({ read: 3 });
    assert.deepEqual((await open("b", true)).value, { read: 3 });
  });
});
