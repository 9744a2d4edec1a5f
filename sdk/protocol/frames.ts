/** The three frames of protocol 3. Spec: §2.1, protocol/frames-and-connect.md §2. All refuse unknown keys. */
import { NonEmpty, Strict, type Static, Type } from "../schema.ts";

/** Versions of the two state snapshots; clients refuse a frame whose `stateVersion` has other keys. */
export const StateVersion = Strict({ presence: Type.Integer({ minimum: 0 }), health: Type.Integer({ minimum: 0 }) });
export type StateVersion = Static<typeof StateVersion>;

/** Client to gateway. */
export const RequestFrame = Strict({
  type: Type.Literal("req"),
  id: NonEmpty,
  method: NonEmpty,
  params: Type.Optional(Type.Unknown()),
});
export type RequestFrame = Static<typeof RequestFrame>;

/** The `error` of a response. */
export const ErrorFrame = Strict({
  code: NonEmpty,
  message: Type.String(),
  details: Type.Optional(Type.Unknown()),
  retryable: Type.Optional(Type.Boolean()),
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0 })),
});

/** Gateway to client, once per request (twice for methods that accept first). */
export const ResponseFrame = Strict({
  type: Type.Literal("res"),
  id: NonEmpty,
  ok: Type.Boolean(),
  payload: Type.Optional(Type.Unknown()),
  error: Type.Optional(ErrorFrame),
});
export type ResponseFrame = Static<typeof ResponseFrame>;

/** Position of an event among all events of this gateway. Only clients with the cap `resume` get one. */
export const EventCursor = Strict({ epoch: NonEmpty, n: Type.Integer({ minimum: 0 }) });
export type EventCursor = Static<typeof EventCursor>;

/** Gateway to client, without a request. */
export const EventFrame = Strict({
  type: Type.Literal("event"),
  event: NonEmpty,
  payload: Type.Optional(Type.Unknown()),
  seq: Type.Optional(Type.Integer({ minimum: 0 })),
  stateVersion: Type.Optional(StateVersion),
  cursor: Type.Optional(EventCursor),
});
export type EventFrame = Static<typeof EventFrame>;
