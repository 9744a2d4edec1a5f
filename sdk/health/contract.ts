/** Health, status, presence and what clients report. Spec: protocol/methods-health.md, protocol/events.md §2 and §7. */
import { defineContract, defineEvent } from "../contract.ts";
import { Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const strings = Type.Optional(Type.Array(Type.String()));

/** Somebody or something connected, the gateway itself included. */
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

/** How the gateway is, for people and panels. */
export const HealthSummary = Type.Object({
  ok: Type.Boolean({ description: "false: some plugin that is to run does not" }),
  missingPlugins: Type.Array(Type.String(), { description: "names of the plugins that are to run and do not" }),
  ts: Type.Integer({ description: "epoch ms" }),
  durationMs: Type.Integer({ description: "milliseconds the refresh took" }),
  channels: Type.Record(Type.String(), Type.Unknown()),
  channelOrder: Type.Array(Type.String()),
  channelLabels: Type.Record(Type.String(), Type.String()),
  heartbeatSeconds: Type.Integer(),
  defaultAgentId: Type.String(),
  agents: Type.Array(Type.Unknown()),
  sessions: Type.Unknown(),
  lastGoodConfig: Type.Optional(
    Type.Literal(true, {
      description: "the start refused the configuration file; the last configuration that worked is used",
    }),
  ),
});

/** How the gateway is and who is there. */
export const health = defineContract("health", {
  check: {
    name: "health",
    summary: "How the gateway is; `probe: true` asks every channel",
    scope: "none",
    role: "any",
    params: Type.Object({ probe: Type.Optional(Type.Unknown()) }),
    result: HealthSummary,
  },
  status: {
    name: "status",
    summary: "Sessions, agents and heartbeat at a glance; paths only for admins",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({}),
  },
  presence: {
    name: "system-presence",
    summary: "Who is connected, newest first",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Array(PresenceEntry),
  },
  event: {
    name: "system-event",
    summary: "Something says how it is: a line of presence, and an event for the main session",
    scope: "operator.admin",
    // Spec: methods-health.md §4: further fields are taken by their type, and ignored where that is another.
    params: Type.Object({ text: Type.String() }),
    result: Type.Object({ ok: Type.Literal(true) }),
  },
});

/** Snapshot: the whole presence list. */
export const presenceEvent = defineEvent({
  name: "presence",
  summary: "Who is connected changed",
  payload: Type.Object({ presence: Type.Array(PresenceEntry) }),
  droppable: true,
  snapshot: true,
});

/** Snapshot: a fresh health summary. */
export const healthEvent = defineEvent({
  name: "health",
  summary: "Health was refreshed",
  payload: HealthSummary,
  snapshot: true,
});
