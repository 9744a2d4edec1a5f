/** Update: finds and installs newer versions; the restart after an update runs the new code. */
import { createHash } from "node:crypto";
import { definePlugin, lazy, live, messageOf, optional, unavailable } from "@svc/sdk";
import { GatewayInfo, RestartNotes, Restarts } from "@svc/sdk/gateway";
import { Ownership } from "@svc/sdk/storage";
import { update, updateAvailable } from "@svc/sdk/update";
import { createRun, EMBEDDED, type Turn } from "./run.ts";
import { createSeenFile } from "./seen.ts";
import { UpdateSettings } from "./settings.ts";
import type { Updater } from "./updater.ts";
import { createWatch } from "./watch.ts";

/** The check and the installer are imported on first use. */
const updaterCode = lazy(() => import("./updater.ts"));
const newestCode = lazy(() => import("./newest.ts"));

export default definePlugin({
  id: "update",
  api: "^1.0.0",
  config: UpdateSettings,
  requires: { info: GatewayInfo, restarts: Restarts, notes: optional(RestartNotes), ownership: live(Ownership) },

  setup(gateway) {
    const { clock, log, signal, services, config } = gateway;
    const { info, restarts } = services;
    const { channel } = config;
    const publish = gateway.event(updateAvailable);
    let updater: Updater | undefined;
    let lastNote: unknown = null;

    const parts = once(() => {
      const { hostDirectory, stateDir, version } = info;
      const here = { hostDirectory, version, clock, env: process.env, signal };
      const active = () => info.plugins().flatMap(({ id, state }) => (state === "active" ? [id] : []));
      const load = async () => {
        const { createUpdater } = await updaterCode();
        return (updater ??= createUpdater({ ...here, plugins: active }));
      };
      const notes = () => services.notes;
      const turn = () => updateTurn(services.ownership.get());
      const run = createRun({ version, channel, restarts, clock, log, notes, updater: load, turn });
      const watch = createWatch({
        settings: config,
        clock,
        log,
        jitter: jitterOf(stateDir),
        seen: createSeenFile(() => gateway.stateDir),
        ask: async () => (await newestCode()).askNewest({ ...here, channel }),
        changed: (available) => publish({ updateAvailable: available }),
        install: async () =>
          void (await run({ note: "Installed automatically (update.auto.enabled)." }, { isAsked: false })),
      });
      return { run, watch };
    });

    gateway.serve(update, {
      async run({ params }) {
        const done = await parts().run(params);
        if (params.dryRun !== true) lastNote = done.sentinel.payload;
        return done;
      },
      status: () => ({
        sentinel: lastNote,
        updateAvailable: parts().watch.available,
        effectiveChannel: channel,
        schedule: { channel, autoEnabled: config.auto?.enabled === true },
      }),
      async check() {
        if (!restarts.renewable) return UNCHECKED;
        const { watch } = parts();
        const { mode, reason } = await watch.look();
        const { available, checkedAt } = watch;
        return { mode, updateAvailable: available, checkedAt, ...(reason === undefined ? {} : { reason }) };
      },
    });
    gateway.hooks.hello.tap((snapshot) => {
      const { available } = parts().watch;
      return available === null ? snapshot : { ...snapshot, updateAvailable: available };
    });
    gateway.busy(() => updater?.isRunning ?? false);
    gateway.start(() => (restarts.renewable ? parts().watch.begin() : undefined));
  },
});

/** Without a storage plugin, no other gateway uses the state. */
async function updateTurn(ownership: Ownership | undefined): Promise<Turn | undefined> {
  const owner = await ownership?.owner().catch((error: unknown) => unavailable(messageOf(error)));
  if (!owner) return { release: async () => undefined };
  if (!(await owner.take(UPDATING))) return undefined;
  return { release: () => owner.release(UPDATING).catch(() => undefined) };
}

/** What the gateway owns that is being updated. */
const UPDATING = "update/installing";
const UNCHECKED = { mode: "unknown", updateAvailable: null, checkedAt: null, reason: EMBEDDED } as const;

function once<T>(work: () => NonNullable<T>): () => T {
  let result: T | undefined;
  return () => (result ??= work());
}

/** A number from 0 to 1, fixed per gateway: it spreads the updates of many gateways over time. */
function jitterOf(stateDir: string): number {
  return createHash("sha256").update(stateDir).digest().readUInt32BE(0) / 2 ** 32;
}
