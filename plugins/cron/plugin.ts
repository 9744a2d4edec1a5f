/** Cron: scheduled jobs; every scheduled run is recorded exactly once. */
import { randomUUID } from "node:crypto";
import { ownerOf, sharedClock } from "@svc/kit/ownership";
import { definePlugin, GATEWAY_WORDS, lazy, live } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { cron, cronEvent } from "@svc/sdk/cron";
import { GatewayInfo } from "@svc/sdk/gateway";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { CronJobRecord, CronRunRecord, Importer, lazyImporter } from "@svc/sdk/import";
import { Secrets } from "@svc/sdk/secrets";
import { sessions, Sessions } from "@svc/sdk/sessions";
import { type Owner, Ownership, Retention, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { CronConfig } from "./config.ts";
import { JobChanges } from "./store/job-changes.ts";
import { Jobs } from "./jobs/jobs.ts";
import { cronMethods } from "./jobs/methods.ts";
import { forgetOldSessions } from "./runs/retention.ts";
import { Runner } from "./runs/runner.ts";
import { loadCalendar } from "./schedule/calendar.ts";
import { Scheduler } from "./runs/scheduler.ts";
import { CRON_RETENTION } from "./store/schema.ts";
import { preview } from "./schedule/preview.ts";
import { CronStore } from "./store/store.ts";
import { type CronActions, cronTool } from "./jobs/tool.ts";

const importing = lazy(() => import("./import.ts"));
/** Choice: milliseconds after the start when jobs begin to run even if `hostReady` is never called. */
const OPEN_AFTER_MS = 1_000;

export default definePlugin({
  id: "cron",
  api: "^1.0.0",
  config: CronConfig,
  requires: {
    storage: Storage,
    ownership: Ownership,
    sessions: Sessions,
    agents: AgentDirectory,
    runs: AgentRuns,
    events: SystemEvents,
    host: GatewayInfo,
    delivery: live(Delivery),
    outbound: live(OutboundFetch),
    secrets: live(Secrets),
  },

  setup(gateway) {
    const { config, log, services, signal } = gateway;
    const { storage, ownership, agents, runs, events, delivery, outbound, secrets } = services;
    const clock = sharedClock(gateway.clock, ownership);
    /** Spec: http/config.md §7.5. */
    const isEnabled = config.enabled && !process.env["SVC_SKIP_CRON"]?.trim();
    const publish = gateway.event(cronEvent);
    const store = new CronStore(storage);
    const changes = new JobChanges(store);
    const base = { store, changes, clock, log, publish, timeZone: () => agents.timeZone };
    const runner = new Runner({
      ...base,
      sessions: services.sessions,
      agents,
      runs,
      events,
      config,
      notifications: {
        delivery,
        outbound,
        secrets,
        webhookToken: config.webhookToken,
        log,
      },
      abortRun: (runId) => void runs.abort(runId, "cron"),
      wakeBy: (wakeAt) => scheduler.wakeBy(wakeAt),
      ended: () =>
        forgetOldSessions({
          store,
          clock,
          log,
          config,
          deleteSession: (key) => gateway.call(sessions.delete, { key }),
        }),
    });
    const scheduler: Scheduler = new Scheduler({
      ...base,
      runner,
      async notifyMain(id, text) {
        const sessionKey = services.sessions.defaults().mainSessionKey;
        await events.add({ id, sessionKey, text, wake: "next-heartbeat", reason: "cron", at: clock.now() });
      },
    });
    const defaultAgentId = () => agents.defaultId;
    const jobs = new Jobs({ ...base, scheduler, runner, defaultAgentId, newId: randomUUID });
    const methods = cronMethods({ jobs, store, storage, clock, isEnabled, defaultAgentId });

    const wake: CronActions["wake"] = async ({ text, mode, origin = GATEWAY_WORDS }) => {
      if (text.trim() === "") return { ok: false };
      const sessionKey = services.sessions.defaults().mainSessionKey;
      await events.add({ id: randomUUID(), sessionKey, text, wake: mode, reason: "wake", at: clock.now(), origin });
      return { ok: true };
    };

    gateway.serve(cron, {
      list: ({ params }) => methods.list(params),
      get: ({ params }) => methods.get(params),
      status: () => methods.status(),
      add: ({ params }) => methods.add(params),
      update: ({ params }) => methods.update(params),
      remove: ({ params }) => methods.remove(params),
      run: ({ params }) => methods.run(params),
      cancel: ({ params }) => methods.cancel(params),
      preview: ({ params }) => preview(params, { now: clock.now(), timeZone: agents.timeZone }),
      runs: ({ params }) => methods.runs(params),
    });
    gateway.extend(Tool, "cron", cronTool({ ...methods, wake }, clock));
    gateway.extend(Retention, "cron", CRON_RETENTION);
    const moving = { ...base, storage, scheduler, defaultAgentId };
    const jobFacts = { title: "cron jobs", record: CronJobRecord };
    const runFacts = { title: "runs of cron jobs", record: CronRunRecord };
    const jobMoves = async () => (await importing()).jobImporter(moving);
    const runMoves = async () => (await importing()).runImporter(moving);
    gateway.extend(Importer, "cron-job", lazyImporter(jobFacts, jobMoves));
    gateway.extend(Importer, "cron-run", lazyImporter(runFacts, runMoves));
    gateway.busy(() => runner.size > 0);

    let owner: Owner | undefined;
    let opened: Promise<void> | undefined;
    /** Starts the scheduler. Waits for `hostReady`, so that an agent has the tools of every plugin. */
    const open = (): Promise<void> =>
      (opened ??= (async () => {
        await loadCalendarIfNeeded(store);
        if (owner) await runner.open(owner);
        if (isEnabled) await scheduler.open();
      })().catch((error: unknown) => {
        opened = undefined;
        throw error;
      }));
    gateway.hooks.hostReady.tap(open);
    gateway.hooks.configChanged.tap(() => scheduler.checkZone());
    gateway.hooks.hostStopping.tap(() => runner.pause()); // the other gateways have the schedule, too
    gateway.start(async () => {
      await store.open();
      owner = await ownerOf(gateway, ownership, () => runner.look());
      if (services.host.url !== undefined) await open();
      return async () => {
        await scheduler.stop();
        await runner.stop();
        await opened?.catch(() => undefined); // a stop right after the start: storage stays open for it
      };
    });
    gateway.after(OPEN_AFTER_MS, async () => {
      if (!signal.aborted) await open();
    });
  },
});

async function loadCalendarIfNeeded(store: CronStore): Promise<void> {
  if ((await store.count()) > 0) await loadCalendar();
}
