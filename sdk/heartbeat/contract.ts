/** Heartbeats: turns that agents take by the clock or because something happened. Spec: protocol/methods-health.md §5, methods-cron.md §9. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());

/** What came of one heartbeat. Spec: protocol/events.md §5. */
export const HeartbeatReport = Type.Object({
  ts: Type.Integer({ description: "epoch ms" }),
  status: Type.Enum(["sent", "ok-empty", "ok-token", "skipped", "failed"]),
  to: text,
  accountId: text,
  preview: Type.Optional(Type.String({ description: "beginning of what the agent said, at most 200 characters" })),
  durationMs: Type.Optional(Type.Integer({ minimum: 0 })),
  hasMedia: Type.Optional(Type.Boolean()),
  reason: text,
  channel: text,
  silent: Type.Optional(Type.Boolean({ description: "nobody was sent anything" })),
  indicatorType: Type.Optional(Type.Enum(["ok", "alert", "error"])),
});
export type HeartbeatReport = Static<typeof HeartbeatReport>;

/** Waking agents, and the switch of all heartbeats. */
export const heartbeat = defineContract("heartbeat", {
  wake: {
    name: "wake",
    summary: "Tells the main session that something happened; `now` wakes it for that",
    scope: "operator.write",
    params: Strict({ mode: Type.Enum(["now", "next-heartbeat"]), text: NonEmpty }),
    result: Type.Object({ ok: Type.Boolean({ description: "false: the text was blank, and nothing was done" }) }),
  },
  last: {
    name: "last-heartbeat",
    summary: "What came of the last heartbeat since the gateway started",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Union([HeartbeatReport, Type.Null()]),
  },
  set: {
    name: "set-heartbeats",
    summary: "Switches the heartbeats of all agents off or on again, until the gateway is started anew",
    scope: "operator.admin",
    params: Type.Object({ enabled: Type.Boolean() }),
    result: Type.Object({ ok: Type.Literal(true), enabled: Type.Boolean() }),
  },
});

/** After each heartbeat, and each one that was left out. Choice: `preview` is conversation, so it goes to who may read those. */
export const heartbeatEvent = defineEvent({
  name: "heartbeat",
  summary: "An agent's heartbeat took place or was left out",
  scope: "operator.read",
  formerlyForAll: true,
  payload: HeartbeatReport,
  droppable: true,
});
