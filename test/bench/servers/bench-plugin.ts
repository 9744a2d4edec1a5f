/** The benchmark's plugin: a method and a route that do almost nothing, so that the figures measure the gateway. */
import { definePlugin, invalidRequest, optional, Type, unavailable } from "@svc/sdk";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Sessions } from "@svc/sdk/sessions";
import { Storage } from "@svc/sdk/storage";
import { defineTool, Tool } from "@svc/sdk/tools";
import { WebhookAction } from "@svc/sdk/webhooks";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { HEALTH_SIZED, NEWS } from "./answers.ts";
import { bench, newsEvent } from "./contract.ts";
import { copyRecords, seed, seedEvents } from "./seed.ts";

/** Interval of the monitor in milliseconds; included in the delays it records. */
const RESOLUTION_MS = 5;

/** Events of one session. At most 1,000 may wait, and nothing delivers them here. */
const EVENTS_A_SESSION = 100;

const DONE = { ok: true } as const;

export default definePlugin({
  id: "bench",
  api: "^1.0.0",
  requires: { sessions: optional(Sessions), events: optional(SystemEvents), storage: optional(Storage) },

  setup(gateway) {
    const events = () => gateway.services.events ?? unavailable("nobody keeps events here; add the plugin heartbeat");
    const publish = gateway.event(newsEvent);
    let monitor: IntervalHistogram | undefined;

    gateway.serve(bench, {
      healthSized: () => HEALTH_SIZED,
      publish() {
        publish(NEWS);
        return DONE;
      },
      async seed({ params }) {
        const { sessions } = gateway.services;
        if (!sessions) return unavailable("there are no sessions to fill; add the plugin sessions");
        await seed(sessions, params);
        return DONE;
      },
      async seedEvents({ params }) {
        const { sessions } = gateway.services;
        if (!sessions) return unavailable("there is no main session; add the plugin sessions");
        await seedEvents(events(), sessions.defaults().mainSessionKey, params);
        return DONE;
      },
      async copy({ params: { times } }) {
        const { storage } = gateway.services;
        if (!storage) return unavailable("nothing is stored here; add a storage plugin");
        await copyRecords(storage, times);
        return DONE;
      },
      watchLoop() {
        monitor?.disable();
        monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
        monitor.enable();
        return DONE;
      },
      loopDelay() {
        if (!monitor) return unavailable("nothing was measured; call bench.watchLoop first");
        monitor.disable();
        const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
        return { p99: late(monitor.percentile(99)), max: late(monitor.max) };
      },
    });

    gateway.route({
      method: "POST",
      path: "/plugins/bench/wake",
      auth: "gateway",
      scope: "operator.write",
      summary: "Reads a body and answers",
      body: Type.Object({ text: Type.String() }),
      handler: ({ body }) => ({ body: { ok: true, length: body.text.length } }),
    });

    gateway.extend(
      Tool,
      "bench_echo",
      defineTool({
        label: "Echo",
        description: "Returns its text",
        scope: "operator.read",
        effects: ["reads"],
        independent: true,
        brings: "none",
        params: Type.Object({ text: Type.String() }),
        run: ({ text }) => ({ content: [{ type: "text", text }] }),
      }),
    );

    const WebhookFields = Type.Object({ text: Type.String({ external: true }) });
    const texts = { summary: "-", fields: WebhookFields, mappingKeys: { text: "textTemplate" } };
    let noted = 0;
    // The steps of `wake`, distributed over sessions.
    gateway.extend(WebhookAction, "note", {
      ...texts,
      direct: true,
      prepare({ text }) {
        const sessionKey = `agent:main:noted-${Math.floor(noted++ / EVENTS_A_SESSION)}`;
        if (typeof text !== "string" || text.trim() === "") return invalidRequest("text required");
        return { params: { text: text.trim(), sessionKey }, reply: { mode: "next-heartbeat" }, sessionKey };
      },
      commit: ({ runId: id, params: { text, sessionKey }, acceptedAt: at }) =>
        events().statements({
          id,
          at,
          wake: "next-heartbeat",
          reason: "bench",
          sessionKey: String(sessionKey),
          text: String(text),
        }),
      committed: ({ params: { sessionKey } }) =>
        events().stored({ sessionKey: String(sessionKey), wake: "next-heartbeat", reason: "bench" }),
    });
    gateway.extend(WebhookAction, "refuse", { ...texts, prepare: () => invalidRequest("not now"), commit: () => [] });

    gateway.start(() => () => void monitor?.disable());
  },
});
