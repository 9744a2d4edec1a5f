/** Health, status and presence: the state of the gateway, and its connected clients. */
import { randomUUID } from "node:crypto";
import { coversScope, definePlugin, invalidRequest, isGatewayError, live, optional, unavailable } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { ConfigStore } from "@svc/sdk/config";
import { GatewayInfo, Peers } from "@svc/sdk/gateway";
import { gateways, health, healthEvent, presenceEvent, viewers } from "@svc/sdk/health";
import { Heartbeats, SystemEvents } from "@svc/sdk/heartbeat";
import { Models } from "@svc/sdk/models";
import { ownSessionKey, Sessions } from "@svc/sdk/sessions";
import { Ownership } from "@svc/sdk/storage";
import { createLoad, listGateways, LOAD } from "./gateways.ts";
import { thisMachine } from "./machine.ts";
import { createPresence, type SharedEntry } from "./presence.ts";
import { createHealthRefresh, MAX_AGE_MS } from "./refresh.ts";
import { gatewayStatus } from "./status.ts";
import { healthSummary, pluginHealth } from "./summary.ts";
import { createSystemEvent } from "./system-event.ts";
import { systemInfo } from "./system-info.ts";

/** What gateways on the same state tell each other: entries of the list of clients. */
const PRESENCE = "health/presence";
/** Choice: milliseconds in which changes at other gateways become one event. */
const ELSEWHERE_MS = 500;

export default definePlugin({
  id: "health",
  api: "^1.0.0",
  requires: {
    gateway: GatewayInfo,
    peers: Peers,
    sessions: optional(Sessions),
    agents: optional(AgentDirectory),
    models: optional(Models),
    heartbeats: live(Heartbeats),
    events: live(SystemEvents),
    delivery: live(Delivery),
    ownership: live(Ownership),
    config: ConfigStore,
  },

  setup(gateway) {
    const { clock, log, services, hooks } = gateway;
    const { peers } = services;
    const presence = createPresence({
      self: () => thisMachine(services.gateway.version),
      clock,
      share: (key, shared) => peers.share(PRESENCE, key, shared),
      others: () => peers.shared(PRESENCE).map(({ key, value }) => ({ key, ...(value as Omit<SharedEntry, "key">) })), // shared by this plugin
    });
    const presenceChanged = gateway.event(presenceEvent);
    const refresh = createHealthRefresh({
      clock,
      summarise: () => healthSummary(services, clock),
      publish: gateway.event(healthEvent),
      failed(error) {
        // Storage may be unavailable while its plugin reloads; the next refresh uses it again.
        const passes = isGatewayError(error) && error.code === "UNAVAILABLE";
        if (passes)
          log.info({ reason: error.message }, "health could not be refreshed; retrying with the next refresh");
        else log.warn({ err: error }, "health could not be refreshed");
      },
    });

    gateway.serve(health, {
      // Spec: only a literal `true` probes. Choice: it only refreshes, since `channels.status` is what contacts the networks;
      // anybody may call this method.
      check: async ({ params }) => ({ ...(await refresh.get(params.probe === true)), ...pluginHealth(services) }),
      async status({ principal }) {
        const { tlsFingerprint } = services.gateway;
        const full = coversScope(principal.scopes, "operator.admin");
        const tls = tlsFingerprint === undefined ? {} : { tls: { fingerprint: tlsFingerprint } };
        const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
        const ofProcess = { startedAtMs: services.gateway.startedAt, rssBytes, heapBytes };
        return { ...(await gatewayStatus(services, { full, now: clock.now() })), ...tls, process: ofProcess };
      },
      info: ({ principal }) =>
        systemInfo(services.gateway, { full: coversScope(principal.scopes, "operator.admin"), now: clock.now() }),
      presence: () => presence.list(),
      event: createSystemEvent({
        presence,
        sessions: services.sessions,
        events: services.events,
        changed: () => presenceChanged({ presence: presence.list() }),
        now: () => clock.now(),
        newId: randomUUID,
      }),
    });

    gateway.serve(viewers, {
      set({ params: { sessionKeys, agentId }, connection }) {
        const sessions = services.sessions ?? unavailable("there are no sessions; enable the plugin sessions");
        if (!connection) invalidRequest("only a connection shows sessions; call it over a WebSocket");
        const canonical = (key: string) =>
          sessions.canonicalKey(agentId === undefined ? key : ownSessionKey(key, agentId));
        const keys = [...new Set(sessionKeys.map(canonical))];
        if (presence.watches(connection, keys)) presenceChanged({ presence: presence.list() });
        return { sessionKeys: keys };
      },
    });

    let isStopping = false;
    hooks.hostStopping.tap(() => void (isStopping = true));
    const ownership = () => services.ownership.get();
    const load = createLoad({
      info: services.gateway,
      ownership,
      configHash: async () => (await services.config.snapshot()).running?.hash ?? "",
      isStopping: () => isStopping,
    });
    gateway.serve(gateways, { list: listGateways({ peers, ownership, load }) });

    hooks.hello.tap((snapshot) => ({
      ...snapshot,
      presence: presence.list(),
      health: refresh.last ? { ...refresh.last, ...pluginHealth(services) } : {},
    }));
    hooks.hostReady.tap(() => refresh.request());
    hooks.connectionReady.tap((connection) => {
      // Raises the version of the list without notifying any connection. Spec: protocol/frames-and-connect.md §11.
      if (presence.connected(connection)) presenceChanged({ presence: [] }, { connections: [] });
      refresh.request();
    });
    hooks.connectionClosed.tap((connection) => {
      if (presence.disconnected(connection)) presenceChanged({ presence: presence.list() });
    });
    gateway.every(MAX_AGE_MS, () => refresh.request());
    gateway.start(() => {
      presence.begin();
      let cancel: (() => void) | undefined;
      const unfollow = peers.follow(PRESENCE, () => {
        cancel ??= clock.setTimeout(() => {
          cancel = undefined;
          presenceChanged({ presence: presence.list() });
        }, ELSEWHERE_MS);
      });
      const unanswer = peers.answer(LOAD, load);
      return () => {
        unanswer();
        unfollow();
        cancel?.();
        refresh.stop();
      };
    });
  },
});
