/** Health, status, presence and client reports. Spec: protocol/methods-health.md, protocol/events.md §2 and §7. */
import { defineContract, defineEvent } from "../contract.ts";
import { Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const strings = Type.Optional(Type.Array(Type.String()));

/** A connected client or device, or the gateway itself. */
export const PresenceEntry = Type.Object({
  host: text,
  ip: text,
  version: text,
  platform: text,
  deviceFamily: text,
  modelIdentifier: text,
  mode: text,
  reason: text,
  deviceId: text,
  instanceId: text,
  text: text,
  lastInputSeconds: Type.Optional(Type.Integer({ minimum: 0 })),
  roles: strings,
  scopes: strings,
  ts: Type.Integer({ description: "epoch ms" }),
});

/** Health of the gateway, for people and dashboards. */
export const HealthSummary = Type.Object({
  ok: Type.Boolean({ description: "false: a plugin that should run is not running" }),
  missingPlugins: Type.Array(Type.String(), { description: "plugins that should run but do not" }),
  ts: Type.Integer({ description: "epoch ms" }),
  durationMs: Type.Integer({ description: "duration of the refresh in milliseconds" }),
  channels: Type.Record(Type.String(), Type.Unknown()),
  channelOrder: Type.Array(Type.String()),
  channelLabels: Type.Record(Type.String(), Type.String()),
  heartbeatSeconds: Type.Integer(),
  defaultAgentId: Type.String(),
  agents: Type.Array(Type.Unknown()),
  sessions: Type.Unknown(),
  lastGoodConfig: Type.Optional(
    Type.Literal(true, {
      description: "the configuration file was rejected at startup; the last working configuration is in use",
    }),
  ),
});

/** Health, status and presence. */
export const health = defineContract("health", {
  check: {
    name: "health",
    summary: "Get the health of the gateway; `probe: true` gets it afresh",
    scope: "none",
    role: "any",
    params: Type.Object({ probe: Type.Optional(Type.Unknown()) }),
    result: HealthSummary,
  },
  status: {
    name: "status",
    summary: "Get an overview of sessions, agents and heartbeats; paths for admins only",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({
      process: Type.Optional(
        Type.Object({
          startedAtMs: Type.Integer({ description: "epoch ms" }),
          rssBytes: Type.Integer({ description: "memory of the process" }),
          heapBytes: Type.Integer({ description: "used part of the JavaScript heap" }),
        }),
      ),
    }),
  },
  presence: {
    name: "system-presence",
    summary: "List connected clients, newest first",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Array(PresenceEntry),
  },
  event: {
    name: "system-event",
    summary: "Report a system event: adds a presence entry, and an event for the main session",
    scope: "operator.admin",
    // Spec: methods-health.md §4: further fields are accepted if their type matches, otherwise ignored.
    params: Type.Object({ text: Type.String() }),
    result: Type.Object({ ok: Type.Literal(true) }),
  },
});

/** Snapshot: the complete presence list. */
export const presenceEvent = defineEvent({
  name: "presence",
  summary: "The list of connected clients changed",
  payload: Type.Object({ presence: Type.Array(PresenceEntry) }),
  droppable: true,
  snapshot: true,
});

/** Snapshot: a new health summary. */
export const healthEvent = defineEvent({
  name: "health",
  summary: "The health summary was refreshed",
  payload: HealthSummary,
  snapshot: true,
});
