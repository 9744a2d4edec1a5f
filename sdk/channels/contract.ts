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
  lastProofAt: Type.Optional(
    Type.Union([
      Type.Integer({ description: "epoch ms of the last proof that messages pass: a heartbeat, message or probe" }),
      Type.Null(),
    ]),
  ),
  dmPolicy: text,
  allowFrom: Type.Optional(Type.Array(Type.String())),
  pendingPairings: Type.Optional(Type.Integer({ description: "people with a pairing code that waits for approval" })),
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
      channel: Type.Optional(Type.String({ description: "only this channel; default: all" })),
      accountId: Type.Optional(Type.String({ description: "only accounts with this id; default: all" })),
    }),
    result: Type.Object({
      ts: Type.Integer(),
      channelOrder: Type.Array(NonEmpty),
      channelLabels: Type.Record(Type.String(), Type.String()),
      channelDetailLabels: Type.Record(Type.String(), Type.String()),
      channelSystemImages: Type.Record(Type.String(), Type.String()),
      channelMeta: Type.Array(
        Type.Object({
          id: NonEmpty,
          label: Type.String(),
          detailLabel: Type.String(),
          systemImage: text,
          login: Type.Optional(Type.Boolean({ description: "channels.login.start can log in an account" })),
          logout: Type.Optional(Type.Boolean({ description: "channels.logout can delete a login" })),
          probe: Type.Optional(Type.Boolean({ description: "`probe: true` contacts the network" })),
          lacks: Type.Optional(
            Type.Array(Type.String(), {
              description:
                "what the network cannot do: direct, groups, threads, replies, images, audio, videos, files, voice, reactions, edits, typing, buttons, polls",
            }),
          ),
        }),
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

const person = {
  channel: NonEmpty,
  accountId: NonEmpty,
  senderId: NonEmpty,
  senderName: text,
};
const Pending = Type.Object({
  ...person,
  code: NonEmpty,
  requestedAtMs: Type.Optional(Type.Integer({ description: "epoch ms" })),
  expiresAtMs: Type.Integer({ description: "epoch ms" }),
});
const Approved = Type.Object({ ...person, approvedAtMs: Type.Integer({ description: "epoch ms" }) });

/** An account that gives codes to unknown people. */
const pairingAccount = {
  channel: NonEmpty,
  channelLabel: NonEmpty,
  accountId: NonEmpty,
  notifySupported: Type.Boolean({ description: "the person can be told that access was given" }),
};
const IsoTime = Type.String({ description: "ISO time" });

/** A waiting person, in the form of other clients. */
const PairingEntry = Type.Object({
  ...pairingAccount,
  requestId: Type.String({ minLength: 1, description: "the code" }),
  senderId: NonEmpty,
  senderLabel: NonEmpty,
  createdAt: IsoTime,
  lastSeenAt: Type.String({ description: "same as `createdAt`: later messages are not recorded" }),
  expiresAt: IsoTime,
});

/** Access of unknown people by a code that the owner approves. */
export const channelPairing = defineContract("channels.pairing", {
  list: {
    summary: "List people who wait for access to a channel, and people who have it",
    scope: "operator.pairing",
    params: Strict({ channel: text }),
    result: Type.Object({
      pending: Type.Array(Pending),
      approved: Type.Array(Approved),
      accounts: Type.Array(Type.Object(pairingAccount), { description: "accounts that run" }),
      requests: Type.Array(PairingEntry, { description: "`pending` in another form" }),
      commandOwnerConfigured: Type.Literal(true, { description: "chat commands need no owner of their own" }),
      limits: Type.Object({
        pendingPerAccount: Type.Integer(),
        ttlMs: Type.Integer({ description: "milliseconds a code is valid" }),
      }),
    }),
  },
  approve: {
    summary: "Give the person with this pairing code access to the agent",
    scope: "operator.pairing",
    params: Strict({
      channel: NonEmpty,
      accountId: text,
      code: Type.Optional(NonEmpty),
      requestId: Type.Optional(Type.String({ minLength: 1, description: "same as `code`; give one of the two" })),
      notify: Type.Optional(Type.Boolean({ description: "send the person a message; default true" })),
    }),
    result: Type.Object({ approved: Approved }),
  },
  remove: {
    summary: "Take back the access of a person, or refuse a waiting one",
    scope: "operator.pairing",
    params: Strict({ channel: NonEmpty, accountId: text, senderId: NonEmpty }),
    result: Type.Object({ removed: Type.Boolean() }),
  },
});

/** One step of a login, for the person who logs in. */
export const LoginStepView = Type.Object({
  kind: Type.Enum(["form", "show", "done"]),
  message: Type.String(),
  fields: Type.Optional(
    Type.Array(Type.Object({ key: NonEmpty, label: Type.String(), help: text, secret: flag, optional: flag }), {
      description: "values to enter; only for `form`",
    }),
  ),
  url: text,
  qr: Type.Optional(Type.String({ description: "content of a QR code" })),
});
export type LoginStepView = Static<typeof LoginStepView>;

const loginAnswer = Type.Object({
  loginId: NonEmpty,
  channel: NonEmpty,
  accountId: NonEmpty,
  step: LoginStepView,
  expiresAtMs: Type.Optional(
    Type.Integer({ description: "epoch ms at which the shown code, or else the whole login, ends; not after `done`" }),
  ),
  path: Type.Optional(Type.String({ description: "key of the configuration that was written; only after `done`" })),
});

/** Login of an account in steps. */
export const channelLogin = defineContract("channels.login", {
  start: {
    summary: "Begin the login of an account of a channel",
    scope: "operator.admin",
    params: Strict({ channel: NonEmpty, accountId: text }),
    result: loginAnswer,
  },
  next: {
    summary: "Answer a step of a login; the last one writes the configuration of the account",
    scope: "operator.admin",
    params: Strict({
      loginId: NonEmpty,
      answers: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: "values by key; `${NAME}` stands for an environment variable of the gateway",
        }),
      ),
    }),
    result: loginAnswer,
  },
  cancel: {
    summary: "End an unfinished login; a call that waits for its next step fails",
    scope: "operator.admin",
    params: Strict({ loginId: NonEmpty }),
    result: Type.Object({ cancelled: Type.Boolean({ description: "false: no such login" }) }),
  },
});

/** Login with a QR code, for clients that know only these methods. Spec: protocol/methods-channels.md §3. */
export const webLogin = defineContract("web.login", {
  start: {
    summary: "Begin the login of the channel that logs in with a QR code",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      force: flag,
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0 })),
      verbose: flag,
      accountId: text,
    }),
    result: Type.Object({ qrDataUrl: text, message: Type.String() }),
  },
  wait: {
    summary: "Wait until the QR code was scanned",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ timeoutMs: Type.Optional(Type.Integer({ minimum: 0 })), accountId: text }),
    result: Type.Object({ connected: Type.Boolean(), message: Type.String() }),
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
  action: {
    name: "message.action",
    summary: "Send a message or a poll to a chat, react to a message, or change a sent one: send, poll, react, edit",
    scope: "operator.write",
    params: Strict({
      channel: NonEmpty,
      action: Type.String({ minLength: 1, description: "other actions are refused by name" }),
      params: Type.Record(Type.String(), Type.Unknown(), {
        description:
          "of the action. All: `to` or `target`, `accountId`, `threadId`, `dryRun`. send: `message`, `media`, `replyTo`, `silent`. poll: `pollQuestion`, `pollOption`, `pollMulti`, `pollDurationSeconds`, `pollDurationHours`, `pollAnonymous`, `silent`. react: `messageId`, `emoji`, `remove`. edit: `messageId`, `message`. Others are refused if they are set",
      }),
      reply: Type.Optional(
        Strict(
          { replyToId: NonEmpty, source: Type.Literal("explicit") },
          { description: "in place of `params.replyTo`" },
        ),
      ),
      accountId: text,
      sessionKey: Type.Optional(
        Type.String({ description: "session that records the text; default: the session of the recipient" }),
      ),
      agentId: text,
      senderIsOwner: Type.Optional(
        Type.Boolean({ description: "changes nothing: the scopes of the connection say what the sender may do" }),
      ),
      conversationReadOrigin: Type.Optional(
        Type.Literal("direct-operator", { description: "changes nothing: no action reads conversations" }),
      ),
      idempotencyKey: Type.String({ minLength: 1, description: "send and poll: sent once for each key" }),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      action: Type.String(),
      channel: Type.String({ description: "id of the channel" }),
      accountId: Type.String(),
      to: Type.String({ description: "in the channel's own notation" }),
      threadId: text,
      dryRun: Type.Optional(Type.Literal(true, { description: "checked only; nothing was sent" })),
      runId: text,
      messageId: text,
      chatId: text,
      pollId: text,
    }),
  },
});
