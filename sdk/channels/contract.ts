/** Channels and what is sent through them. Spec: protocol/methods-channels.md, protocol/methods-send.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const Time = Type.Optional(Type.Union([Type.Integer({ description: "epoch ms" }), Type.Null()]));

/** What is known of one login of a channel. Never has a secret. */
export const ChannelAccountSnapshot = Type.Object({
  accountId: NonEmpty,
  name: text,
  enabled: flag,
  configured: flag,
  running: flag,
  connected: flag,
  linked: Type.Optional(Type.Boolean({ description: "false: it waits for somebody to log in" })),
  state: Type.Optional(
    Type.String({ description: "for people: what the channel said last, or what is done about it" }),
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
  waitingInbound: Type.Optional(Type.Integer({ description: "messages that wait for an agent's answer" })),
  waitingOutbound: Type.Optional(Type.Integer({ description: "texts that wait to be sent" })),
  failedOutbound: Type.Optional(Type.Integer({ description: "texts of the last days that could not be sent" })),
  refusedInbound: Type.Optional(
    Type.Integer({ description: "messages of people and groups that are not listed, since the start" }),
  ),
  lastRefusedInbound: Type.Optional(
    Type.Object({
      who: Type.String({ description: "id of the person or group" }),
      why: Type.String(),
      next: Type.String({ description: "what lets them in" }),
      at: Type.Integer({ description: "epoch ms" }),
    }),
  ),
  warnings: Type.Optional(
    Type.Array(Type.Object({ message: Type.String(), next: Type.String() }), {
      description: "settings that do what hardly anybody wants",
    }),
  ),
  lastFailedOutbound: Type.Optional(Type.String({ description: "why the last of them could not be sent" })),
});
export type ChannelAccountSnapshot = Static<typeof ChannelAccountSnapshot>;

/** The channels of this gateway, and logging out of them. */
export const channels = defineContract("channels", {
  status: {
    summary: "Channels, their accounts and how they are; `probe: true` asks each network",
    scope: "operator.read",
    params: Strict({
      probe: flag,
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, description: "milliseconds one probe may take, at least 1000; default 10000" }),
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
    summary: "Stops an account and forgets its login, where the channel can",
    scope: "operator.admin",
    params: Strict({ channel: NonEmpty, accountId: text }),
    result: Type.Object({ channel: NonEmpty, accountId: NonEmpty, cleared: Type.Boolean(), loggedOut: flag }),
  },
});

const addressed = {
  to: NonEmpty,
  channel: Type.Optional(Type.String({ description: "default: the only one that is configured" })),
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

/** Saying something in a chat as an operator. */
export const outbound = defineContract("outbound", {
  send: {
    name: "send",
    summary: "Sends a text to a chat",
    scope: "operator.write",
    params: Strict({
      ...addressed,
      message: text,
      mediaUrl: text,
      mediaUrls: Type.Optional(Type.Array(Type.String())),
      gifPlayback: flag,
      agentId: text,
      sessionKey: Type.Optional(
        Type.String({ description: "session that notes the text; default: that of the recipient" }),
      ),
    }),
    result: Type.Object(sent),
  },
  poll: {
    name: "poll",
    summary: "Asks a chat to choose",
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
