/** Durable tables in a PostgreSQL database. */
import { serveStorage } from "@svc/kit/storage";
import { definePlugin, Type } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Retention, Storage } from "@svc/sdk/storage";
import { parseAddress } from "./address.ts";
import { createEngine } from "./space.ts";
import { createStorage } from "./storage.ts";

export default definePlugin({
  id: "storage-postgres",
  api: "^1.0.0",
  requires: { host: GatewayInfo },
  provides: [Storage],
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
      description: "Connections for reads; one more is for writes",
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
    serveStorage(gateway, createEngine(owner, clock), () => services.host.stateDir);
    gateway.start(async () => {
      if (url === undefined)
        throw new Error("storage-postgres has no database; set SVC_DATABASE_URL or storage-postgres.url");
      await owner.open(parseAddress(url, services.host.stateDir), connections);
      return owner.close;
    });
  },
});
