/** Events the host itself sends. Spec: §6, protocol/events.md §1-2. */
import { defineEvent } from "../contract.ts";
import { Type } from "../schema.ts";

/** First frame on every socket, never numbered. Spec: §2.4. */
export const connectChallenge = defineEvent({
  name: "connect.challenge",
  summary: "Opens the handshake",
  payload: Type.Object({ nonce: Type.String(), ts: Type.Integer({ description: "epoch ms" }) }),
});

/** Heartbeat; clients close the connection after two missed ticks. */
export const tick = defineEvent({
  name: "tick",
  summary: "The gateway is alive",
  payload: Type.Object({ ts: Type.Integer({ description: "epoch ms" }) }),
  droppable: true,
  local: true,
});

/** Sent once before every socket is closed with 1012. */
export const shutdown = defineEvent({
  name: "shutdown",
  summary: "The gateway stops or restarts",
  payload: Type.Object({
    reason: Type.String(),
    restartExpectedMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  }),
  local: true,
});
