/** Channels and outbound messages. Spec: protocol/methods-channels.md, protocol/methods-send.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const Time = Type.Optional(Type.Union([Type.Integer({ description: "epoch ms" }), Type.Null()]));

/** State of one account of a channel. Never contains a secret. */
export const ChannelAccountSnapshot = Type.Object({
  accountId: NonEmpty,
  name: text,
  enabled: flag,
  configured: flag,
  running: flag,
  connected: flag,
  linked: Type.Optional(Type.Boolean({ description: "false: login required" })),
  state: Type.Optional(
    Type.String({ description: "for people: the last report of the channel, or the current recovery step" }),
  ),
  reconnectAttempts: Type.Optional(Type.Integer({ minimum: 0 })),
  nextAttemptAt: Time,
  lastConnectedAt: Time,
  lastDisconnect: Type.Optional(
    Type.Union([Type.Object({ at: Type.Integer(), error: text, loggedOut: flag }), Type.Null()]),
  ),
  lastStartAt: Time,
  lastStopAt: Time,
  lastInboundAt: Time,
  lastOutboundAt: Time,
  lastError: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  lastProbeAt: Time,
  probe: Type.Optional(Type.Unknown()),
  waitingInbound: Type.Optional(Type.Integer({ description: "messages waiting for an agent's answer" })),
  waitingOutbound: Type.Optional(Type.Integer({ description: "messages waiting to be sent" })),
  failedOutbound: Type.Optional(Type.Integer({ description: "messages of the last days that could not be sent" })),
  refusedInbound: Type.Optional(
    Type.Integer({ description: "messages from unlisted people and groups since the start" }),
  ),
  lastRefusedInbound: Type.Optional(
    Type.Object({
      who: Type.String({ description: "id of the person or group" }),
      why: Type.String(),
      next: Type.String({ description: "how to admit the sender" }),
      at: Type.Integer({ description: "epoch ms" }),
    }),
  ),
  warnings: Type.Optional(
    Type.Array(Type.Object({ message: Type.String(), next: Type.String() }), {
      description: "settings that are valid but rarely intended",
    }),
  ),
  lastFailedOutbound: Type.Optional(Type.String({ description: "why the last failed message could not be sent" })),
});
export type ChannelAccountSnapshot = Static<typeof ChannelAccountSnapshot>;

/** The channels of this gateway and their accounts. */
export const channels = defineContract("channels", {
  status: {
    summary: "List channels, their accounts and their state; `probe: true` contacts each network",
    scope: "operator.read",
    params: Strict({
      probe: flag,
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, description: "milliseconds per probe, at least 1000; default 10000" }),
      ),
    }),
    result: Type.Object({
      ts: Type.Integer(),
      channelOrder: Type.Array(NonEmpty),
      channelLabels: Type.Record(Type.String(), Type.String()),
      channelDetailLabels: Type.Record(Type.String(), Type.String()),
      channelSystemImages: Type.Record(Type.String(), Type.String()),
      channelMeta: Type.Array(
        Type.Object({ id: NonEmpty, label: Type.String(), detailLabel: Type.String(), systemImage: text }),
      ),
      channels: Type.Record(Type.String(), Type.Object({ configured: Type.Boolean() })),
      channelAccounts: Type.Record(Type.String(), Type.Array(ChannelAccountSnapshot)),
      channelDefaultAccountId: Type.Record(Type.String(), NonEmpty),
    }),
  },
  logout: {
    summary: "Stop an account and delete its login, if the channel supports it",
    scope: "operator.admin",
    params: Strict({ channel: NonEmpty, accountId: text }),
    result: Type.Object({ channel: NonEmpty, accountId: NonEmpty, cleared: Type.Boolean(), loggedOut: flag }),
  },
});

const addressed = {
  to: NonEmpty,
  channel: Type.Optional(Type.String({ description: "default: the only configured channel" })),
  accountId: text,
  threadId: text,
  idempotencyKey: NonEmpty,
};
const sent = {
  runId: NonEmpty,
  messageId: NonEmpty,
  channel: NonEmpty,
  chatId: text,
  channelId: text,
  toJid: text,
  conversationId: text,
};

/** Sending messages to chats as an operator. */
export const outbound = defineContract("outbound", {
  send: {
    name: "send",
    summary: "Send a text to a chat",
    scope: "operator.write",
    params: Strict({
      ...addressed,
      message: text,
      mediaUrl: text,
      mediaUrls: Type.Optional(Type.Array(Type.String())),
      gifPlayback: flag,
      agentId: text,
      sessionKey: Type.Optional(
        Type.String({ description: "session that records the text; default: the session of the recipient" }),
      ),
    }),
    result: Type.Object(sent),
  },
  poll: {
    name: "poll",
    summary: "Send a poll to a chat",
    scope: "operator.write",
    advertised: false,
    params: Strict({
      ...addressed,
      question: NonEmpty,
      options: Type.Array(NonEmpty, { minItems: 2, maxItems: 12 }),
      maxSelections: Type.Optional(Type.Integer({ minimum: 1, maximum: 12 })),
      durationSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800 })),
      durationHours: Type.Optional(Type.Integer({ minimum: 1 })),
      silent: flag,
      isAnonymous: flag,
    }),
    result: Type.Object({ ...sent, pollId: text }),
  },
});
