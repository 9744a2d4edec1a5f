/**
 * Heartbeats: agent turns started periodically or by an event. Spec: protocol/methods-health.md §5, methods-cron.md §9.
 */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());

/** Outcome of one heartbeat run. Spec: protocol/events.md §5. */
export const HeartbeatReport = Type.Object({
  ts: Type.Integer({ description: "epoch ms" }),
  status: Type.Enum(["sent", "ok-empty", "ok-token", "skipped", "failed"]),
  to: text,
  accountId: text,
  preview: Type.Optional(Type.String({ description: "beginning of the agent's text, at most 200 characters" })),
  durationMs: Type.Optional(Type.Integer({ minimum: 0 })),
  hasMedia: Type.Optional(Type.Boolean()),
  reason: text,
  channel: text,
  silent: Type.Optional(Type.Boolean({ description: "nothing was sent" })),
  indicatorType: Type.Optional(Type.Enum(["ok", "alert", "error"])),
});
export type HeartbeatReport = Static<typeof HeartbeatReport>;

/** Waking agents, and switching heartbeats on and off. */
export const heartbeat = defineContract("heartbeat", {
  wake: {
    name: "wake",
    summary: "Report an event to the main session; `now` wakes the session",
    scope: "operator.write",
    params: Strict({ mode: Type.Enum(["now", "next-heartbeat"]), text: NonEmpty }),
    result: Type.Object({ ok: Type.Boolean({ description: "false: the text was blank and was ignored" }) }),
  },
  last: {
    name: "last-heartbeat",
    summary: "Get the outcome of the last heartbeat run since the gateway started",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Union([HeartbeatReport, Type.Null()]),
  },
  set: {
    name: "set-heartbeats",
    summary: "Switch the heartbeats of all agents on or off until the gateway restarts",
    scope: "operator.admin",
    params: Type.Object({ enabled: Type.Boolean() }),
    result: Type.Object({ ok: Type.Literal(true), enabled: Type.Boolean() }),
  },
});

/**
 * Sent after each heartbeat run and each skipped one. Choice: `preview` is part of a conversation, so only readers of
 * conversations receive it.
 */
export const heartbeatEvent = defineEvent({
  name: "heartbeat",
  summary: "A heartbeat run finished or was skipped",
  scope: "operator.read",
  formerlyForAll: true,
  payload: HeartbeatReport,
  droppable: true,
});
