/** Update: a newer version is noticed, told, and brought in; the restart after it runs the new code. */
import { createHash } from "node:crypto";
import {
  definePlugin,
  isGatewayError,
  messageOf,
  optional,
  type ParamsOf,
  type ResultOf,
  update,
  updateAvailable,
} from "@svc/sdk";
import { GatewayInfo, RestartNotes, Restarts } from "@svc/sdk/services";
import { noteOf } from "./report.ts";
import { UpdateSettings } from "./settings.ts";
import type { Update, Updater } from "./updater.ts";
import { createWatch } from "./watch.ts";

/** Spec: protocol/methods-system.md §1. */
const TIMEOUT = { usual: 1_200_000, least: 1_000 };

type Params = ParamsOf<typeof update.run>;
type Result = ResultOf<typeof update.run>;

export default definePlugin({
  id: "update",
  api: "^1.0.0",
  config: UpdateSettings,
  requires: { info: GatewayInfo, restarts: Restarts, notes: optional(RestartNotes) },

  setup(gateway) {
    const { clock, log, signal, services, config } = gateway;
    const { info, restarts } = services;
    const here = { hostDirectory: info.hostDirectory, version: info.version, clock, env: process.env, signal };
    const plugins = () => info.plugins().flatMap(({ id, state }) => (state === "active" ? [id] : []));
    let updater: Updater | undefined;
    /** What it takes to update is only loaded when somebody does. */
    const load = once(async () => (updater = (await import("./updater.ts")).createUpdater({ ...here, plugins })));
    const publish = gateway.event(updateAvailable);

    async function run({ timeoutMs = TIMEOUT.usual, dryRun = false, ...asked }: Params): Promise<Result> {
      const order = { channel: config.channel, timeoutMs: Math.max(TIMEOUT.least, timeoutMs), dryRun };
      const done = restarts.renewable ? await (await load()).run(order) : embedded(info.version);
      const note = noteOf(done, asked, clock.now());
      const path = dryRun ? null : await keep(note);
      const { status } = done.report;
      const restart = status === "ok" ? schedule(asked.restartDelayMs) : null;
      log.info({ status, reason: done.report.reason, before: done.report.before, after: done.report.after }, "update");
      return { ok: status !== "error", result: done.report, restart, sentinel: { path, payload: note } };
    }

    /** @returns where it is kept; `null`: nobody keeps it, or it could not be written */
    async function keep(note: ReturnType<typeof noteOf>): Promise<string | null> {
      const { notes } = services;
      if (!notes) {
        log.info({ note: note.message }, "no plugin keeps what is told after a restart");
        return null;
      }
      return notes.keep(note).then(
        () => notes.path,
        (error: unknown) => {
          log.warn(
            { err: error, path: notes.path, note: note.message },
            "what became of the update is not told after the restart",
          );
          return null;
        },
      );
    }

    function schedule(delayMs: number | undefined): Result["restart"] {
      const base = { ok: true, pid: process.pid, signal: "SIGUSR1", mode: "emit" } as const;
      try {
        const planned = restarts.schedule({
          reason: "update.run",
          kind: "process",
          ...(delayMs === undefined ? {} : { delayMs }),
        });
        return { ...base, ...planned, reason: "update.run", scheduled: true };
      } catch (error) {
        if (!isGatewayError(error)) log.error({ err: error }, "a restart could not be scheduled");
        const reason = `update.run: updated; it takes effect with a restart by hand: ${messageOf(error)}`;
        return { ...base, delayMs: 0, coalesced: false, cooldownMsApplied: 0, reason, scheduled: false };
      }
    }

    const watch = createWatch({
      settings: config,
      clock,
      log,
      jitter: jitterOf(info.stateDir),
      ask: async () => (await import("./newest.ts")).askNewest({ ...here, channel: config.channel }),
      changed: (available) => publish({ updateAvailable: available }),
      install: async () => void (await run({ note: "Installed without being asked (update.auto.enabled)." })),
    });

    gateway.serve(update, {
      run: ({ params }) => run(params),
      async check() {
        if (!restarts.renewable) return UNCHECKED;
        const { mode, reason } = await watch.look();
        const { available, checkedAt } = watch;
        return { mode, updateAvailable: available, checkedAt, ...(reason === undefined ? {} : { reason }) };
      },
    });
    gateway.hooks.hello.tap("update", (snapshot) =>
      watch.available === null ? snapshot : { ...snapshot, updateAvailable: watch.available },
    );
    gateway.busy(() => updater?.isRunning ?? false);
    if (restarts.renewable) gateway.start(() => watch.begin());
  },
});

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

const EMBEDDED = "this gateway runs inside another program";

const UNCHECKED = { mode: "unknown", updateAvailable: null, checkedAt: null, reason: EMBEDDED } as const;

/** Choice: whose code is part of another program is updated with that program. */
function embedded(version: string): Update {
  const why = `${EMBEDDED}, and is updated with it`;
  const report = {
    status: "skipped",
    mode: "unknown",
    reason: "embedded",
    before: { version },
    steps: [],
    durationMs: 0,
  } as const;
  return { report: { ...report, steps: [] }, why, byHand: ["update the program that runs it"] };
}

/** Spreads gateways over time; the same for one of them every time. */
function jitterOf(stateDir: string): number {
  return createHash("sha256").update(stateDir).digest().readUInt32BE(0) / 2 ** 32;
}
