/** Heartbeats: what the configuration says of them, and the service `Heartbeats` that tells how they are. */
import type { HeartbeatReport } from "./contract.ts";
import { type Static, Strict, Type } from "../schema.ts";
import { defineService } from "../service.ts";

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** `agents.defaults.heartbeat`, and `agents.list[].heartbeat` over it. Spec: http/sessions-routing.md §7.1. */
export const HeartbeatConfig = Strict({
  every: text("time between two heartbeats, e.g. `30m`, `1h30m`; a bare number is minutes; 0: none; default 30m"),
  target: text("who is told what needs attention: `none`, `last` (where the session was spoken to last) or a channel"),
  to: text("recipient in the channel's own notation; default: the last one of the session on that channel"),
  accountId: text("account of the channel; default: that of the last conversation, else the channel's own"),
  session: text("session of the agent in which it beats; one of another agent is ignored; default `main`"),
  prompt: text("what the agent is told; default: a built-in text about HEARTBEAT.md and HEARTBEAT_OK"),
  ackMaxChars: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "an answer of HEARTBEAT_OK and at most so many characters more is no alert; default 300",
    }),
  ),
  model: text("`provider/id`, a bare id or an alias; default: that of the session or the agent"),
  includeReasoning: flag("what the model thought is sent before an alert; default false"),
  directPolicy: Type.Optional(
    Type.Enum(["allow", "block"], { description: "block: nothing is sent to direct chats; default allow" }),
  ),
  activeHours: Type.Optional(
    Strict({
      start: text("`HH:MM`, first minute; default 00:00"),
      end: text("`HH:MM`, the first minute that is not in it any more, up to `24:00`, which is the default"),
      timezone: text("IANA name; `local`: the zone of this machine; `user` or absent: agents.defaults.userTimezone"),
    }),
  ),
  lightContext: flag("of the workspace files only HEARTBEAT.md stands in the prompt; default false"),
});
export type HeartbeatConfig = Static<typeof HeartbeatConfig>;

/** The same with what is not said filled in. */
export type HeartbeatSettings = Required<
  Pick<
    HeartbeatConfig,
    "every" | "target" | "session" | "ackMaxChars" | "includeReasoning" | "directPolicy" | "lightContext"
  >
> &
  HeartbeatConfig;

/** An agent's heartbeat as it is shown. Spec: protocol/methods-health.md §1. */
export interface HeartbeatView {
  readonly enabled: boolean;
  readonly every: string;
  /** `null`: it does not beat. */
  readonly everyMs: number | null;
  readonly prompt: string;
  readonly target: string;
  readonly model?: string;
  readonly ackMaxChars: number;
}

/** A heartbeat that is asked for beside those of the clock. Spec: http/sessions-routing.md §7.2. */
export interface HeartbeatRequest {
  /** e.g. `manual`, `cron:<jobId>`. */
  readonly reason: string;
  /** Default: the agent of the session; without either every agent whose heart beats. */
  readonly agentId?: string;
  /** Canonical. Default: the session in which the agent's heart beats. */
  readonly sessionKey?: string;
}

/** What people in channels see of heartbeats: `channels.defaults.heartbeat`. Spec: §7.3. */
export interface HeartbeatVisibility {
  /** They are told that nothing needs attention. */
  readonly showOk: boolean;
  /** They are told what needs attention. */
  readonly showAlerts: boolean;
  /** Events say `indicatorType`. */
  readonly useIndicator: boolean;
}

/** How heartbeats are. */
export interface Heartbeats {
  /** Asks for one soon. It may be left out, and is forgotten by a restart: what must not be lost is a `SystemEvents` event. */
  request(request: HeartbeatRequest): void;
  /** False after `set-heartbeats` has switched them off. */
  readonly isOn: boolean;
  of(agentId: string): HeartbeatView;
  /** What came of the last one since the start. */
  last(): HeartbeatReport | undefined;
}

/** How heartbeats are. Provided by the plugin `heartbeat`. */
export const Heartbeats = defineService<Heartbeats>()("heartbeats", "1.0.0");
