/** Heartbeats of two gateways on one database: one of them has the schedule. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import { withoutPostgres } from "../../postgres.ts";
import { soon, twoGateways } from "../two-gateways.ts";

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
  const plugins = ["storage-sqlite", "models", "provider-offline", "sessions", "tools", "agents", "heartbeat", busy];
  const [one] = await twoGateways(t, { plugins, gateway: { drainMs: 60_000 } });
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
