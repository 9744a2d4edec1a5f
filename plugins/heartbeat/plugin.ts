/** Heartbeat: runs agents at regular intervals, reports events to sessions, and wakes sessions for urgent ones. */
import { randomUUID } from "node:crypto";
import { ownerOf, sharedClock, whenLeaving } from "@svc/kit/ownership";
import { definePlugin, live, originOf } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { GatewayInfo } from "@svc/sdk/gateway";
import { heartbeat, heartbeatEvent, type HeartbeatReport, Heartbeats, SystemEvents } from "@svc/sdk/heartbeat";
import { Sessions } from "@svc/sdk/sessions";
import { type Owner, Ownership, Retention, Storage } from "@svc/sdk/storage";
import { BEAT_RETENTION, BeatStore } from "./beat-store.ts";
import { Beats } from "./beats.ts";
import { EVENT_RETENTION, EventStore } from "./event-store.ts";
import { Folding } from "./folding.ts";
import { beating, sessionOf, viewOf } from "./hearts.ts";
import { Schedule } from "./schedule.ts";
import { Telling } from "./telling.ts";
import { Wakes } from "./waking.ts";
import { heartbeatFile } from "./workspace-file.ts";

/** Choice: milliseconds between two checks for unfinished work. */
const SWEEP_EVERY_MS = 60_000;
/** Choice: delay in milliseconds after which heartbeats start if the hook `hostReady` is not called. */
const OPEN_AFTER_MS = 1_000;
/** What the gateway owns that runs the heartbeats. */
const SCHEDULE = "heartbeat/schedule";
/** Reason of events from the method `wake`. Spec: http/sessions-routing.md §7.2. */
const WAKE_REASON = "wake";

export default definePlugin({
  id: "heartbeat",
  api: "^1.0.0",
  requires: {
    storage: Storage,
    ownership: Ownership,
    runs: AgentRuns,
    agents: AgentDirectory,
    sessions: Sessions,
    host: GatewayInfo,
    delivery: live(Delivery),
  },
  provides: [SystemEvents, Heartbeats],

  setup(gateway) {
    const { log, services, signal } = gateway;
    const { storage, ownership, runs, agents, sessions, delivery } = services;
    const clock = sharedClock(gateway.clock, ownership);
    const store = new EventStore(storage);
    const beatStore = new BeatStore(storage);
    const folding = new Folding({ store, clock, log });
    const waker = () => owner?.id ?? null;
    const telling = new Telling({ store, runs, agents, waker, clock, log });
    const publish = gateway.event(heartbeatEvent);
    let owner: Owner | undefined;
    let isOn = true;
    let last: HeartbeatReport | undefined;

    const beats: Beats = new Beats({
      beats: beatStore,
      events: store,
      runs,
      agents,
      sessions,
      delivery,
      readFile: heartbeatFile,
      isOn: () => isOn,
      restart: (agentId) => schedule.restart(agentId),
      publish: (report) => publish((last = report)),
      clock,
      log,
      newRunId: randomUUID,
    });
    const wakes = new Wakes({
      store,
      agentOf: (sessionKey) => sessions.agentOf(sessionKey),
      beat: (wake) => beats.beat(wake),
      clock,
      log,
    });
    const beatOf = (agentId: string, reason: string, sessionKey?: string) => {
      const key = sessionKey ?? sessionOf(agentId, agents.heartbeat(agentId), sessions);
      wakes.request({ agentId, sessionKey: key, reason, isForEvents: false });
    };
    const schedule = new Schedule({
      store: beatStore,
      beating: () => (isOn ? beating(agents) : []),
      due(agentId) {
        beatOf(agentId, "interval");
        // Events that waited for active hours or for heartbeats to be switched on.
        wakes
          .requestAll(agentId)
          .catch((error: unknown) =>
            log.warn({ err: error }, "waiting events could not be read; retrying at the agent's next heartbeat"),
          );
      },
      clock,
      log,
    });

    const events: SystemEvents = {
      statements: (event) => store.add(event, clock.now(), waker()),
      stored({ sessionKey, wake, reason }) {
        folding.stored(sessionKey);
        if (wake !== "now") return;
        log.debug({ sessionKey, reason }, "an event asks to wake a session");
        wakes.requestFor(sessionKey, reason);
      },
      async add(event) {
        await storage.transaction(events.statements(event));
        events.stored(event);
      },
      waiting: (sessionKey) => store.waiting(sessionKey),
    };
    gateway.provide(SystemEvents, events);
    gateway.provide(Heartbeats, {
      get isOn() {
        return isOn;
      },
      of: (agentId) => viewOf(agents.heartbeat(agentId), isOn),
      last: () => last,
      request({ reason, agentId, sessionKey }) {
        if (agentId !== undefined) beatOf(agentId, reason, sessionKey);
        else if (sessionKey !== undefined) beatOf(sessions.agentOf(sessionKey), reason, sessionKey);
        else for (const one of beating(agents)) beatOf(one.agentId, reason);
      },
    });
    gateway.serve(heartbeat, {
      async wake({ params: { mode, text }, principal }) {
        if (text.trim() === "") return { ok: false };
        const { mainSessionKey: sessionKey } = sessions.defaults();
        const id = `wake:${randomUUID()}`;
        const about = { wake: mode, reason: WAKE_REASON, at: clock.now(), origin: originOf(principal) };
        await events.add({ id, sessionKey, text, ...about });
        return { ok: true };
      },
      last: () => last ?? null,
      async set({ params: { enabled } }) {
        isOn = enabled;
        schedule.look();
        if (enabled) await wakes.requestAll();
        return { ok: true as const, enabled };
      },
    });

    gateway.hooks.runPrompt.tap((prompt, call) => telling.prompt(prompt, call.signal), { phase: "late" });
    // Not awaited, since the writes may take long if the storage is busy.
    gateway.hooks.runFinished.tap((outcome) => {
      beats.finished(outcome);
      void telling.finished(outcome).then((settled) => wakes.finished(outcome, settled));
    });
    gateway.hooks.configChanged.tap(() => schedule.look());
    gateway.every(SWEEP_EVERY_MS, async () => {
      await telling.catchUp();
      await beats.catchUp();
      await folding.checkAll();
      await lead();
      await wakeLeft();
    });
    gateway.extend(Retention, "heartbeat-events", EVENT_RETENTION);
    gateway.extend(Retention, "heartbeats", BEAT_RETENTION);

    let isOpen = false;
    let leads = false;
    let hasLeft = false;
    /** One gateway runs the heartbeats. */
    const lead = async () => {
      if (!isOpen || leads || !owner || !(await owner.take(SCHEDULE))) return;
      if (!isOpen) return owner.release(SCHEDULE); // left meanwhile
      await schedule.open();
      leads = true;
    };
    /** Wakes the sessions whose urgent events a gateway or an earlier generation has left. */
    const wakeLeft = async () => {
      if (!isOpen || !owner) return;
      for (const sessionKey of await store.takeUrgent(owner)) wakes.requestFor(sessionKey, "retry");
    };
    // Like runs from before a restart, heartbeats wait until the tools of all plugins are available.
    const open = async () => {
      if (hasLeft) return;
      isOpen = true;
      wakes.open();
      await lead();
      await wakeLeft();
      await beats.catchUp();
    };
    const takeOver = async () => {
      await telling.catchUp();
      if (owner) await beats.recover(owner);
      await lead();
      await wakeLeft();
    };
    whenLeaving(
      gateway,
      () => ownership,
      async () => {
        isOpen = leads = false;
        hasLeft = true;
        schedule.stop();
        await owner?.release(SCHEDULE);
      },
    );
    gateway.hooks.hostReady.tap(open);
    gateway.start(async () => {
      await store.open();
      owner = await ownerOf(gateway, ownership, takeOver);
      owner.signal.addEventListener("abort", () => schedule.stop(), { once: true, signal });
      await telling.catchUp();
      await beats.recover(owner);
      if (services.host.url !== undefined) await open();
      return async () => {
        schedule.stop();
        wakes.stop();
        await Promise.all([beats.stop(), telling.stop(), folding.stop()]);
      };
    });
    gateway.after(OPEN_AFTER_MS, async () => {
      if (!signal.aborted) await open();
    });
  },
});
