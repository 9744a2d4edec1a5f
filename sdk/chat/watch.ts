/** Messages of a session, for clients that show it. Spec: protocol 4 §3. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";
import { SessionRow } from "../sessions/contract.ts";

const one = Strict({ key: NonEmpty, agentId: Type.Optional(NonEmpty) });

/** Following the messages of single sessions. */
export const sessionMessages = defineContract("sessions.messages", {
  subscribe: {
    summary: "Get `session.message` events of a session on this connection",
    scope: "operator.read",
    params: one,
    result: Type.Object({
      subscribed: Type.Literal(true),
      key: Type.String({ description: "canonical, as in the events" }),
    }),
  },
  unsubscribe: {
    summary: "Get no `session.message` events of a session any more",
    scope: "operator.read",
    params: one,
    result: Type.Object({ subscribed: Type.Literal(false), key: Type.String() }),
  },
});

/** Only for connections that called `sessions.messages.subscribe` for the session: one event for each stored message, in their order. */
export const sessionMessage = defineEvent({
  name: "session.message",
  summary: "A message was added to a session",
  scope: "operator.read",
  payload: Type.Object({
    sessionKey: Type.String(),
    agentId: Type.String(),
    sessionId: Type.String(),
    message: Type.Object({}, { description: "as in chat.history" }),
    messageId: Type.String(),
    messageSeq: Type.Optional(Type.Integer({ description: "place of the message in the transcript" })),
    session: Type.Optional(SessionRow),
    updatedAt: Type.Integer({ description: "epoch ms" }),
  }),
});
