/** Heartbeats: their configuration, and the service `Heartbeats`, which reports on them. */
import type { HeartbeatReport } from "./contract.ts";
import { type Static, Strict, Type } from "../schema.ts";
import { defineService } from "../service.ts";

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** `agents.defaults.heartbeat`, overridden by `agents.list[].heartbeat`. Spec: http/sessions-routing.md §7.1. */
export const HeartbeatConfig = Strict({
  every: text("interval, e.g. `30m`, `1h30m`; a bare number is minutes; 0: none; default 30m"),
  target: text("who receives alerts: `none`, `last` (the last chat of the session) or a channel"),
  to: text("recipient in the notation of the channel; default: the last recipient of the session on that channel"),
  accountId: text("account of the channel; default: the account of the last conversation, else that of the channel"),
  session: text("session of the agent in which heartbeats run; a session of another agent is ignored; default `main`"),
  prompt: text("prompt of the heartbeat run; default: a built-in text about HEARTBEAT.md and HEARTBEAT_OK"),
  ackMaxChars: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "an answer of HEARTBEAT_OK plus at most this many characters is no alert; default 300",
    }),
  ),
  model: text("`provider/id`, a bare id or an alias; default: the model of the session or agent"),
  includeReasoning: flag("send the reasoning of the model before an alert; default false"),
  directPolicy: Type.Optional(
    Type.Enum(["allow", "block"], { description: "block: send nothing to direct chats; default allow" }),
  ),
  activeHours: Type.Optional(
    Strict({
      start: text("`HH:MM`, inclusive; default 00:00"),
      end: text("`HH:MM`, exclusive, up to `24:00`, which is the default"),
      timezone: text("IANA name; `local`: the zone of this machine; `user` or absent: agents.defaults.userTimezone"),
    }),
  ),
  lightContext: flag("include only HEARTBEAT.md of the workspace files in the prompt; default false"),
});
export type HeartbeatConfig = Static<typeof HeartbeatConfig>;

/** The same settings with defaults filled in. */
export type HeartbeatSettings = Required<
  Pick<
    HeartbeatConfig,
    "every" | "target" | "session" | "ackMaxChars" | "includeReasoning" | "directPolicy" | "lightContext"
  >
> &
  HeartbeatConfig;

/** Heartbeat settings of an agent for display. Spec: protocol/methods-health.md §1. */
export interface HeartbeatView {
  readonly enabled: boolean;
  readonly every: string;
  /** `null`: no periodic heartbeats. */
  readonly everyMs: number | null;
  readonly prompt: string;
  readonly target: string;
  readonly model?: string;
  readonly ackMaxChars: number;
}

/** Request for an extra heartbeat run. Spec: http/sessions-routing.md §7.2. */
export interface HeartbeatRequest {
  /** e.g. `manual`, `cron:<jobId>`. */
  readonly reason: string;
  /** Default: the agent of the session; without a session, every agent with heartbeats. */
  readonly agentId?: string;
  /** Canonical. Default: the session in which the agent's heartbeats run. */
  readonly sessionKey?: string;
}

/** What people in channels see of heartbeats: `channels.defaults.heartbeat`. Spec: §7.3. */
export interface HeartbeatVisibility {
  /** Send a message when nothing needs attention. */
  readonly showOk: boolean;
  /** Send alerts. */
  readonly showAlerts: boolean;
  /** Include `indicatorType` in events. */
  readonly useIndicator: boolean;
}

/** Heartbeats of all agents. */
export interface Heartbeats {
  /**
   * Requests a heartbeat run soon. The run may be skipped, and a restart drops the request; use a `SystemEvents` event
   * for anything that must not be lost.
   */
  request(request: HeartbeatRequest): void;
  /** False after `set-heartbeats` switched them off. */
  readonly isOn: boolean;
  of(agentId: string): HeartbeatView;
  /** Outcome of the last heartbeat run since the start. */
  last(): HeartbeatReport | undefined;
}

/** Token of the service. */
export const Heartbeats = defineService<Heartbeats>()("heartbeats", "1.0.0", {
  summary:
    "Requests heartbeat runs and reports on them. Provided by the plugin `heartbeat`; used by plugins that wake agents or show their state.",
});
