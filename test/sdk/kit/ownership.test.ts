/** What the kit does for the owner of a plugin's generation. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ownerOf, sharedClock } from "@svc/kit/ownership";
import { createFakeClock } from "@svc/sdk/testing";
import { onlyOwner, onlyOwnership } from "../../plugins/only-owner.ts";
import { settled } from "../../host/kernel/reload-scene.ts";

async function scene(look: () => Promise<unknown> = async () => undefined) {
  const clock = createFakeClock();
  const stopping = new AbortController();
  const lease = new AbortController();
  const did: string[] = [];
  const listeners = new Set<() => void>();
  const note = (_fields: object, text: string) => void did.push(text);
  const log = { debug: note, info: note, warn: note, error: note };
  const gateway = { clock, log, signal: stopping.signal, restart: (reason: string) => void did.push(reason) };
  const given = { ...onlyOwner(), signal: lease.signal, end: async () => void did.push("its resources are free") };
  const ownership = {
    ...onlyOwnership(),
    owner: async () => given,
    changed: (listener: () => void) => (listeners.add(listener), () => void listeners.delete(listener)),
  };
  const owner = await ownerOf(gateway, ownership, look);
  const change = () => {
    for (const listener of listeners) listener();
  };
  return { clock, owner, given, did, change, listeners, stopping, lease };
}

describe("the owner of a generation", () => {
  it("restarts the plugin when its lease ends", async () => {
    const { did, owner, given, lease } = await scene();
    assert.equal(owner, given);
    lease.abort();
    assert.deepEqual(did, ["the lease of this gateway has ended"]);
  });

  it("looks at each change, one after the other, and again after a failure", async () => {
    const looks: (() => void)[] = [];
    let failures = 1;
    const { clock, did, change } = await scene(() => {
      if (failures-- > 0) return Promise.reject(new Error("away"));
      return new Promise<void>((resolve) => looks.push(resolve));
    });
    change();
    change();
    await settled();
    assert.match(did.join(), /could not be taken over; retrying$/);
    assert.equal(looks.length, 0);
    await clock.advance(1_000);
    await settled();
    assert.equal(looks.length, 1);
    looks[0]?.();
    await settled();
    assert.equal(looks.length, 2);
  });

  it("frees its resources and leaves nothing behind when the plugin stops", async () => {
    const { did, lease, listeners, stopping } = await scene();
    stopping.abort();
    lease.abort();
    assert.deepEqual([did, listeners.size], [["its resources are free"], 0]);
  });
});

it("the shared clock shows the time of the database", () => {
  const clock = createFakeClock();
  const shared = sharedClock(clock, { aheadMs: 300_000 });
  assert.deepEqual([shared.now() - clock.now(), shared.elapsed()], [300_000, clock.elapsed()]);
});
