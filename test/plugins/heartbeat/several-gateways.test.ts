/** Heartbeats of two gateways on one database: one of them has the schedule. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { definePlugin } from "@svc/sdk";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Ownership, Storage } from "@svc/sdk/storage";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { emptySchema, withoutPostgres } from "../../postgres.ts";
import { onDatabase, soon, twoGateways } from "../two-gateways.ts";

const PLUGINS = ["storage-sqlite", "models", "provider-offline", "sessions", "tools", "agents", "heartbeat"];

/** A plugin that keeps its gateways running while `work.isBusy`, and what it sees in each: its storage, the id of its owner, the owner of the schedule. */
function observer() {
  const storages: Storage[] = [];
  const holders: (() => Promise<string>)[] = [];
  const work = { isBusy: true };
  const plugin = definePlugin({
    id: "observer",
    api: "^1.0.0",
    requires: { storage: Storage, ownership: Ownership },
    setup(gateway) {
      const { storage, ownership } = gateway.services;
      gateway.busy(() => work.isBusy);
      gateway.start(() => {
        storages.push(storage);
        holders.push(async () => (await ownership.owner()).id);
      });
    },
  });
  const owner = async () => {
    const sql = "SELECT owner FROM svc_owned WHERE resource LIKE 'heartbeat%'";
    for (const storage of storages.toReversed()) {
      const row = await storage.get<{ owner: string }>(sql).catch(() => undefined); // its gateway has ended
      if (row) return row.owner.slice(0, 36);
    }
    return undefined;
  };
  return { plugin, work, storages, holders, owner };
}

it("the schedule moves to another gateway when its own begins to stop", { skip: withoutPostgres() }, async (t) => {
  const { plugin, work, holders, owner } = observer();
  const gateways = await twoGateways(t, { plugins: [...PLUGINS, plugin], gateway: { drainMs: 60_000 } });
  await soon(async () => (await owner()) !== undefined, "the first owner");
  const first = await owner();
  // On a busy machine, the first gateway may have lost its lease, and with it the schedule.
  const index = (await holders[1]?.())?.startsWith(first ?? "none") ? 1 : 0;
  const { gateway } = gateways[index];
  await soon(() => gateway.others === 1, "the other one to be known");
  const stopped = gateway.stop("test");
  await soon(async () => ![first, undefined].includes(await owner()), "the next owner");
  work.isBusy = false;
  await stopped;
  assert.notEqual(await owner(), first);
});

it("a stopping gateway does not take the schedule again", { skip: withoutPostgres() }, async (t) => {
  const { plugin, work, owner } = observer();
  const config = onDatabase(await emptySchema());
  const clock = createFakeClock();
  const one = await testGateway(t, { plugins: [...PLUGINS, plugin], config, gateway: { drainMs: 60_000, clock } });
  await testGateway(t, { plugins: ["storage-sqlite", plugin], config }); // nobody else takes it
  await soon(async () => (await owner()) !== undefined, "the owner");
  await soon(() => one.gateway.others === 1, "the other one to be known");
  const stopped = one.gateway.stop("test");
  await soon(async () => (await owner()) === undefined, "the schedule to be free");
  await clock.advance(1_000); // when each gateway looks once more
  await setTimeout(500);
  assert.equal(await owner(), undefined);
  work.isBusy = false;
  await clock.advance(1_000);
  await stopped;
});

it("a free schedule is taken at the next sweep, whoever was told", { skip: withoutPostgres() }, async (t) => {
  const { plugin, work, storages, owner } = observer();
  work.isBusy = false;
  const clock = createFakeClock();
  await twoGateways(t, { plugins: [...PLUGINS, plugin], gateway: { clock } });
  await soon(async () => (await owner()) !== undefined, "the first owner");
  const first = await owner();
  await clock.advance(1_000); // each gateway looks once more a second after its start
  await storages[1]?.transaction([{ sql: "DELETE FROM svc_owned WHERE resource LIKE 'heartbeat%'" }]);
  await clock.advance(60_000);
  await soon(async () => ![first, undefined].includes(await owner()), "the next owner");
});

it(
  "an urgent event of a gateway that ended before it could wake the session",
  { skip: withoutPostgres() },
  async (t) => {
    const parts: { readonly storage: Storage; readonly events: SystemEvents }[] = [];
    const store = definePlugin({
      id: "store",
      api: "^1.0.0",
      requires: { storage: Storage, events: SystemEvents },
      setup: (gateway) => gateway.start(() => void parts.push(gateway.services)),
    });
    const [one, other] = await twoGateways(t, { plugins: [...PLUGINS, store] });
    await soon(() => one.gateway.others === 1, "the other one to be known");
    await setTimeout(1_500); // each gateway looks once more a second after its start
    const [here = assert.fail(), there = assert.fail()] = parts;
    const about = { wake: "now", reason: "test", at: Date.now() } as const;
    // As when the process is killed between the commit and the wake.
    await there.storage.transaction(
      there.events.statements({ id: "e1", sessionKey: "agent:main:main", text: "the door is open", ...about }),
    );
    await other.gateway.stop("test");
    const status = async () =>
      (await here.storage.get<{ status: string }>("SELECT status FROM heartbeat_events WHERE id = 'e1'"))?.status;
    await soon(async () => (await status()) === "told", "the event to be told");
  },
);
