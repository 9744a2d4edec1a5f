/** Health, status, presence and client reports. Spec: protocol/methods-health.md, protocol/events.md §2 and §7. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

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
  watchedSessions: Type.Optional(
    Type.Array(Type.String(), {
      description: "canonical keys of the sessions that its connections show; absent: none",
    }),
  ),
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
  info: {
    name: "system.info",
    summary: "Get facts about the machine and the process of the gateway; the path of its state for admins only",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      machineName: Type.String(),
      hostname: Type.String(),
      platform: Type.String({ description: "as Node.js names it, e.g. `linux`" }),
      release: Type.String({ description: "version of the kernel" }),
      arch: Type.String(),
      osLabel: Type.String({ description: "for people" }),
      lanAddress: text,
      port: Type.Optional(Type.Integer({ description: "absent: the port is not open" })),
      nodeVersion: Type.String(),
      pid: Type.Integer(),
      uptimeMs: Type.Integer({ description: "milliseconds since the gateway started" }),
      cpuCount: Type.Integer(),
      cpuModel: text,
      loadAverage: Type.Optional(
        Type.Array(Type.Number(), { description: "of 1, 5 and 15 minutes; absent: the system does not measure it" }),
      ),
      memoryTotalBytes: Type.Integer(),
      memoryFreeBytes: Type.Integer(),
      diskTotalBytes: Type.Optional(Type.Integer({ description: "of the disk with the state directory" })),
      diskAvailableBytes: Type.Optional(Type.Integer()),
      diskPath: Type.Optional(Type.String({ description: "for admins" })),
    }),
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

const Gateway = Type.Object({
  id: Type.String({ description: "new with each start; empty: it is alone on its state" }),
  name: Type.String({ description: "name of the machine" }),
  isThis: Type.Boolean({ description: "it has answered this call" }),
  joinedAtMs: Type.Optional(Type.Integer({ description: "epoch ms" })),
  leaseMs: Type.Optional(
    Type.Integer({
      description: "milliseconds until its lease ends; negative: it has ended without leaving; absent: it needs none",
    }),
  ),
  owned: Type.Array(Type.String(), { description: "accounts, nodes and duties that it alone has now" }),
  load: Type.Optional(
    Type.Object(
      {
        version: Type.String(),
        url: text,
        startedAtMs: Type.Integer({ description: "epoch ms" }),
        isStopping: Type.Boolean(),
        clients: Type.Integer(),
        busy: Type.Array(Type.String(), { description: "plugins with work in flight" }),
        cpu: Type.Number({ description: "processor cores in use since the last answer" }),
        rssBytes: Type.Integer({ description: "memory of the process" }),
        aheadMs: Type.Integer({ description: "milliseconds by which the clock of the database is ahead of its clock" }),
        leaseLosses: Type.Integer({ description: "how often it lost its lease since its start" }),
        lastLoss: Type.Optional(Type.Object({ atMs: Type.Integer(), reason: Type.String() })),
        configHash: Type.String({ description: "hash of the text of its configuration" }),
      },
      { description: "absent: it does not answer" },
    ),
  ),
});

/** The gateways on one state. */
export const gateways = defineContract("gateways", {
  list: {
    summary: "List the gateways that use the state of this one, with what each does",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ gateways: Type.Array(Gateway) }),
  },
});

/** Which sessions a client shows, for the list of connected clients. */
export const viewers = defineContract("sessions.viewers", {
  set: {
    summary: "Tell which sessions this connection shows; system-presence lists them until it ends",
    scope: "operator.read",
    params: Strict({
      sessionKeys: Type.Array(NonEmpty, { maxItems: 32, description: "replaces those of the last call" }),
      agentId: Type.Optional(Type.String({ minLength: 1, description: "agent of the keys without `agent:`" })),
    }),
    result: Type.Object({ sessionKeys: Type.Array(Type.String(), { description: "canonical, each once" }) }),
  },
});

/** Snapshot: the complete presence list. */
export const presenceEvent = defineEvent({
  name: "presence",
  summary: "The list of connected clients changed",
  payload: Type.Object({ presence: Type.Array(PresenceEntry) }),
  droppable: true,
  snapshot: true,
  local: true,
});

/** Snapshot: a new health summary. */
export const healthEvent = defineEvent({
  name: "health",
  summary: "The health summary was refreshed",
  payload: HealthSummary,
  snapshot: true,
  local: true,
});
