/** Heartbeat: sessions are told what happened, and woken for what cannot wait. */
import { randomUUID } from "node:crypto";
import { definePlugin, isGatewayError, unavailable } from "@svc/sdk";
import { AgentRuns, GatewayInfo, Storage, SystemEvents } from "@svc/sdk/services";
import { EventStore, MAX_WAITING } from "./event-store.ts";
import { Room } from "./room.ts";
import { Telling } from "./telling.ts";
import { Wakes } from "./waking.ts";

/** Milliseconds an event is remembered after it was told, so that a second one with its id changes nothing. */
const KEEP_MS = 24 * 3_600_000;
/** Choice: milliseconds between looks for what is left over or old; rows one step deletes, and steps of one look. */
const SWEEP_EVERY_MS = 60_000;
const SWEEP_LIMIT = 500;
const SWEEP_STEPS = 200;
/** Choice: sessions are woken this many milliseconds after the start, should nobody say that the host is ready. */
const OPEN_AFTER_MS = 1_000;

export default definePlugin({
  id: "heartbeat",
  api: "^1.0.0",
  requires: { storage: Storage, runs: AgentRuns, host: GatewayInfo },
  provides: [SystemEvents],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const { storage, runs } = services;
    const store = new EventStore(storage);
    const room = new Room(store, clock);
    const telling = new Telling({ store, runs, clock, log });
    const wakes = new Wakes({ store, runs, clock, log, newRunId: randomUUID });

    const events: SystemEvents = {
      statements: (event) => store.add(event, clock.now()),
      stored({ sessionKey, wake, reason }) {
        if (wake !== "now") return;
        log.debug({ sessionKey, reason }, "a session is to be woken");
        wakes.request(sessionKey);
      },
      async add(event) {
        await storage.transaction(store.add(event, clock.now())).catch(async (error: unknown) => {
          if (isGatewayError(error) && error.code === "CONFLICT") refuseMore(event.sessionKey);
          throw error;
        });
        events.stored(event);
      },
      isFull: (sessionKey) => room.isFull(sessionKey),
      waiting: (sessionKey) => store.waiting(sessionKey),
    };
    gateway.provide(SystemEvents, events);

    gateway.hooks.runPrompt.tapPromise({ name: "heartbeat", phase: "late" }, (prompt, call) =>
      telling.prompt(prompt, call.signal),
    );
    gateway.hooks.runFinished.tapPromise("heartbeat", async (outcome) => {
      wakes.finished(outcome, await telling.finished(outcome));
    });
    gateway.every(SWEEP_EVERY_MS, async () => {
      await telling.catchUp();
      let pruned = SWEEP_LIMIT;
      for (let step = 0; pruned === SWEEP_LIMIT && step < SWEEP_STEPS && !signal.aborted; step++)
        pruned = await store.prune(clock.now() - KEEP_MS, SWEEP_LIMIT);
    });

    // As runs left over from before a restart, wakes wait until everybody's tools are there.
    gateway.hooks.hostReady.tapPromise("heartbeat", () => wakes.open());
    gateway.start(async () => {
      await store.open();
      await telling.catchUp();
      if (services.host.url !== undefined) await wakes.open();
      return () => {
        wakes.stop();
        return telling.stop();
      };
    });
    gateway.after(OPEN_AFTER_MS, async () => {
      if (!signal.aborted) await wakes.open();
    });
  },
});

function refuseMore(sessionKey: string): never {
  unavailable(
    `${MAX_WAITING} events wait for session ${sessionKey}, which is the most; they are told with its next turns`,
  );
}
