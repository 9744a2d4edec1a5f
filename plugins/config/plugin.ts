/** Config: reads and changes the configuration file and serves its schema, by methods and by a tool. */
import { join } from "node:path";
import { definePlugin, lazy, live } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import { config, ConfigStore } from "@svc/sdk/config";
import { GatewayInfo, RestartNotes, Restarts } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { gatewayTool } from "./gateway-tool.ts";
import { lookUp } from "./lookup.ts";
import { type Note, postNote } from "./note.ts";
import { createSentinel } from "./sentinel.ts";
import { createWrites } from "./writes.ts";

/** A file in the state directory. Spec: protocol/stores.md §8. */
const SENTINEL_FILE = "restart-sentinel.json";

const setupCode = lazy(() => import("./setup-part.ts"));

export default definePlugin({
  id: "config",
  api: "^1.0.0",
  requires: { store: ConfigStore, restarts: Restarts, info: GatewayInfo, sessions: live(Sessions) },
  provides: [RestartNotes],

  setup(gateway) {
    const { clock, log, services } = gateway;
    const { store, restarts } = services;
    const sentinel = createSentinel(() => join(services.info.stateDir, SENTINEL_FILE), log);
    gateway.extend(Retention, "config-audit", {
      files: ["logs/config-audit.jsonl*"],
      holds: "who changed the configuration, and when",
      rule: "newest 4 files of 1 MiB",
    });
    gateway.extend(Retention, "config-backups", {
      files: ["svc.json.bak*"],
      holds: "previous versions of the configuration",
      rule: "newest 5",
    });
    gateway.provide(RestartNotes, {
      get path() {
        return sentinel.path;
      },
      keep: (note) => sentinel.keep(note),
    });
    const post = (note: Note) =>
      postNote(note, {
        inject: (params) => gateway.call(chat.inject, params),
        mainSession: () => services.sessions.get()?.defaults().mainSessionKey,
        log,
      });

    gateway.serve(config, {
      get: () => store.snapshot(),
      schemaLookup: ({ params: { path } }) => lookUp(path, store),
      schema: () => ({ ...store.schema(), generatedAt: new Date(clock.now()).toISOString() }),
      async move({ params: { to }, principal }) {
        const isMoved = await store.move(to, { actor: principal.id, action: "config.move" });
        return { ok: true as const, isMoved };
      },
      ...createWrites({ store, restarts, sentinel, post, clock, log }),
    });

    const { info } = services;
    gateway.extend(
      Tool,
      "gateway",
      gatewayTool({ info, restarts, sentinel, clock, call: (...asked) => gateway.call(...asked) }),
    );

    const access = lazySetupPart({ title: "Access to the gateway", order: 100 }, async () =>
      (await setupCode()).createAccessPart(info),
    );
    gateway.extend(SetupPart, "access", access);

    // Not in `start`: a reload of this plugin must not post the note of a restart that has yet to happen.
    gateway.hooks.hostReady.tap(() => sentinel.consume(post));
  },
});
