/** The three frames of protocol 3. Spec: §2.1, protocol/frames-and-connect.md §2. All refuse unknown keys. */
import { NonEmpty, Strict, type Static, Type } from "../schema.ts";

/** Protocol version this gateway speaks. Spec: §9. */
export const PROTOCOL = 3;

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

/** Place of an event in all that this gateway has sent. Only clients with the cap `resume` see one. */
export const EventCursor = Strict({ epoch: NonEmpty, n: Type.Integer({ minimum: 0 }) });
export type EventCursor = Static<typeof EventCursor>;

/** Cap of clients that take cursors and may come back with one. Choice (spec/README.md "seq"). */
export const RESUME_CAP = "resume";

/** Gateway to client, unasked. */
export const EventFrame = Strict({
  type: Type.Literal("event"),
  event: NonEmpty,
  payload: Type.Optional(Type.Unknown()),
  seq: Type.Optional(Type.Integer({ minimum: 0 })),
  stateVersion: Type.Optional(StateVersion),
  cursor: Type.Optional(EventCursor),
});
export type EventFrame = Static<typeof EventFrame>;

/** Largest message a client may send before and after it is accepted, in bytes. Spec: frames-and-connect.md §1; before: choice. */
export const MAX_PAYLOAD_BYTES = { beforeConnect: 65_536, afterConnect: 26_214_400 } as const;

/** Bytes that may wait unsent on one socket before its reader counts as slow. Spec: frames-and-connect.md §12. */
export const MAX_BUFFERED_BYTES = 52_428_800;

/** Milliseconds between two `tick` events. Spec: §8. */
export const TICK_INTERVAL_MS = 15_000;

/** Milliseconds a socket may take to send an acceptable `connect`. Spec: frames-and-connect.md §3. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Close codes the gateway uses. Spec: frames-and-connect.md §13. */
export const CLOSE = { normal: 1000, protocolMismatch: 1002, policy: 1008, tooLarge: 1009, restart: 1012 } as const;
