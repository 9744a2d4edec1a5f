/** Changes of sessions, for clients that show lists of them. Spec: protocol 4 §3. */
import { defineContract, defineEvent } from "../contract.ts";
import { Type } from "../schema.ts";
import { SessionRow, sessions } from "./contract.ts";

const text = Type.Optional(Type.String());

/** Following the sessions of the gateway. */
export const sessionsWatch = defineContract("sessions", {
  subscribe: {
    summary: "Get `sessions.changed` events on this connection; with params, also the first page of sessions.list",
    scope: "operator.read",
    params: sessions.list.params,
    result: Type.Object({
      subscribed: Type.Literal(true),
      list: Type.Optional(sessions.list.result),
    }),
  },
  unsubscribe: {
    summary: "Get no `sessions.changed` events any more",
    scope: "operator.read",
    params: Type.Object({}, { additionalProperties: false }),
    result: Type.Object({ subscribed: Type.Literal(false) }),
  },
});

/**
 * Only for connections that called `sessions.subscribe`. Several changes of one session within 200 ms are one event, with the reason of the
 * last one.
 */
export const sessionsChanged = defineEvent({
  name: "sessions.changed",
  summary: "A session was created, used, changed or deleted",
  scope: "operator.read",
  payload: Type.Object({
    sessionKey: Type.Optional(Type.String({ description: "absent: many sessions changed; read the list again" })),
    agentId: text,
    ts: Type.Integer({ description: "epoch ms" }),
    reason: Type.String({ description: "create, send, patch, reset, compact, delete, run or many" }),
    phase: Type.Optional(Type.Enum(["start", "end"], { description: "with the reason `run`" })),
    runId: text,
    /** The row of sessions.list with `includeDerivedTitles` and `includeLastMessage`; absent: deleted. */
    session: Type.Optional(SessionRow),
  }),
});
