/** Durable tables in a PostgreSQL database. */
import { serveStorage } from "@svc/kit/storage";
import { definePlugin, Type } from "@svc/sdk";
import { Backplane, GatewayInfo, SharedConfig } from "@svc/sdk/gateway";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { parseAddress } from "./address.ts";
import { configKeeper } from "./config-keeper.ts";
import { EventStream } from "./event-stream.ts";
import { createEngine } from "./space.ts";
import { createStorage } from "./storage.ts";

export default definePlugin({
  id: "storage-postgres",
  api: "^1.0.0",
  requires: { host: GatewayInfo, backplane: Backplane, sharedConfig: SharedConfig },
  provides: [Storage, Ownership],
  config: Type.Object({
    url: Type.Optional(
      Type.String({
        minLength: 1,
        sensitive: true,
        description:
          "Address of the database: postgres://user:password@host:5432/database. Default: the environment variable SVC_DATABASE_URL",
      }),
    ),
    connections: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 100,
      description: "Connections for reads; three more are for writes, for events, and for messages of other gateways",
    }),
  }),

  setup(gateway) {
    const { clock, log, services } = gateway;
    const { url = process.env["SVC_DATABASE_URL"], connections } = gateway.config;
    const owner = createStorage({ clock, log });
    gateway.provide(Storage, owner.storage);
    gateway.extend(Retention, "migrations", {
      tables: ["svc_migrations", "svc_copy"],
      holds: "migration steps that were applied, by plugin; progress of a copy",
      rule: "steps: never deleted, one row each; progress: until the copy has finished",
    });
    const events = new EventStream({ connect: owner.forEvents, backplane: services.backplane, log });
    const engine = createEngine(owner, clock, (self, present) => events.members(self, present));
    const { join, leave } = serveStorage(gateway, engine, () => services.host.stateDir);
    gateway.extend(Retention, "events", {
      tables: ["svc_stream", "svc_ring", "svc_ring_intact"],
      holds: "events of the last minutes, for clients and gateways that connect again; numbers of the last event",
      rule: "an event: 2 minutes, at most 50,000 events; the numbers: never deleted, one row",
    });
    gateway.extend(Retention, "config", {
      tables: ["svc_config"],
      holds: "the configuration of all gateways, once it was moved to the database",
      rule: "never deleted, one row",
    });
    gateway.start(async () => {
      if (url === undefined)
        throw new Error("storage-postgres has no database; set SVC_DATABASE_URL or storage-postgres.url");
      let leaveConfig = () => {};
      const stop = async () => {
        leaveConfig();
        await events.close();
        await leave();
        await owner.close();
      };
      try {
        await owner.open(parseAddress(url, services.host.stateDir), connections);
        await join();
        await events.open();
        leaveConfig = services.sharedConfig.join(configKeeper(owner.storage, gateway.config.url !== undefined));
      } catch (error) {
        await stop(); // the next attempt opens its own connections
        throw error;
      }
      return stop;
    });
  },
});
