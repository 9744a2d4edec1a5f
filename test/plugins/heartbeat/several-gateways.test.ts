/** Heartbeats of two gateways on one database: one of them has the schedule. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { definePlugin } from "@svc/sdk";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Storage } from "@svc/sdk/storage";
import { withoutPostgres } from "../../postgres.ts";
import { soon, twoGateways } from "../two-gateways.ts";

const PLUGINS = ["storage-sqlite", "models", "provider-offline", "sessions", "tools", "agents", "heartbeat"];

it("the schedule moves to another gateway when its own begins to stop", { skip: withoutPostgres() }, async (t) => {
  const storages: Storage[] = [];
  let isBusy = true;
  const busy = definePlugin({
    id: "busy",
    api: "^1.0.0",
    requires: { storage: Storage },
    setup(gateway) {
      gateway.busy(() => isBusy);
      gateway.start(() => void storages.push(gateway.services.storage));
    },
  });
  const [one] = await twoGateways(t, { plugins: [...PLUGINS, busy], gateway: { drainMs: 60_000 } });
  const owner = async () =>
    (await storages[1]?.get<{ owner: string }>("SELECT owner FROM svc_owned WHERE resource LIKE 'heartbeat%'"))?.owner;
  await soon(async () => (await owner()) !== undefined, "the first owner");
  const first = await owner();
  await soon(() => one.gateway.others === 1, "the other one to be known");
  const stopped = one.gateway.stop("test");
  await soon(async () => ![first, undefined].includes(await owner()), "the next owner");
  isBusy = false;
  await stopped;
  assert.notEqual((await owner())?.slice(0, 36), first?.slice(0, 36));
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
