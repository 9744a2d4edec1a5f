/** Receives a message: checks access, finds the session, drops duplicates, records it and hands it on. Spec: http/sessions-routing.md §2, §3. */
import { randomUUID } from "node:crypto";
import { type Clock, isGatewayError, type Live, type Logger, Turns, unavailable } from "@svc/sdk";
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";
import type { ChatCommands } from "@svc/sdk/commands";
import type { InboundAddress, Sessions } from "@svc/sdk/sessions";
import { isMention, isUser, refusalOf } from "../access/admission.ts";
import type { Pairing } from "../access/pairing.ts";
import type { Refusals } from "../access/refusals.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { NewText } from "../outbox/outbox-store.ts";
import { contextKey, contextPlace, type ContextMessage, type ContextStore, HISTORY_LIMIT } from "./context-store.ts";
import { checkedMessage, type Inbound, messageKey, type Source } from "./inbound-message.ts";
import type { AcceptedMessage, InboundStore } from "./inbound-store.ts";
import type { NetworkEvents } from "./network-events.ts";
import { aroundText, channelPrompt, nameOf, runMessage, wordsOf } from "./prompt.ts";
import { principalOf, senderIdOf } from "../access/sender.ts";

/** Choice: messages of one account that may wait for an answer; a further one must be submitted again. */
export const MAX_WAITING = 200;
const BUSY_RETRY_MS = 1_000;

interface ReceivingSources {
  readonly store: Pick<InboundStore, "accept" | "isKnown">;
  readonly context: Pick<ContextStore, "keep" | "of" | "forget">;
  readonly pairing: Pick<Pairing, "load" | "isApproved" | "request">;
  readonly events: NetworkEvents;
  readonly sessions: Live<Sessions>;
  readonly commands: Live<ChatCommands>;
  /** Plugins are still being started or replaced. */
  readonly isLoading: () => boolean;
  readonly outbox: Pick<Outbox, "insert" | "stored">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "info" | "debug">;
  /** Number of messages of an account that wait for an answer. */
  readonly waiting: (channel: string, accountId: string) => number;
  readonly refusals: Refusals;
  /** A pressed button that belongs to the gateway itself. @returns whether it was one */
  readonly pressed: (source: Source, message: Inbound, user: boolean) => Promise<boolean>;
  /** Called when the message is on disk. */
  readonly accepted: (message: AcceptedMessage) => void;
}

export class Receiving {
  readonly #sources: ReceivingSources;
  /** Messages of one account are stored in order of arrival. */
  readonly #turns = new Turns();
  #lastAcceptedAt = 0;

  constructor(sources: ReceivingSources) {
    this.#sources = sources;
  }

  /** @throws GatewayError `UNAVAILABLE` it cannot be accepted now; `INVALID_REQUEST` the message is invalid */
  async receive(source: Source, given: InboundMessage): Promise<Receipt> {
    const { channel, account } = source;
    const message = checkedMessage(given);
    await this.#sources.pairing.load();
    const reason = refusalOf(account, message, { isPaired: this.#isPaired(source, message) });
    // The session of the group also decides whether a mention is needed.
    if (reason && reason !== "not-mentioned") return this.#refuse(source, message, reason);
    return this.#turns.take(JSON.stringify([channel, account.id]), () => this.#take(source, message));
  }

  #isPaired({ channel, account }: Source, { sender }: Inbound): boolean {
    return this.#sources.pairing.isApproved(channel, account.id, sender.id);
  }

  async #refuse(source: Source, message: Inbound, reason: Exclude<RefusalReason, "not-mentioned">): Promise<Receipt> {
    const { refusals, log } = this.#sources;
    const { channel, account } = source;
    log.debug({ channel, account: account.id, reason }, "a message was refused");
    if (reason === "not-allowed") refusals.refused(channel, account, message);
    // One after the other, so that the number of codes stays limited.
    if (reason === "pairing" && message.event === undefined)
      await this.#turns.take(JSON.stringify([channel, account.id]), () => this.#sendCode(source, message));
    return { accepted: false, reason };
  }

  /** Sends an unknown sender a code that the owner can approve. */
  async #sendCode(source: Source, message: Inbound): Promise<void> {
    const { pairing, refusals, outbox, clock } = this.#sources;
    const { channel, account, label, capabilities } = source;
    const { chat, sender } = message;
    const request = { channel, accountId: account.id, senderId: sender.id, chatId: chat.id };
    const place = { channel, accountId: account.id, to: chat.id, maxChars: capabilities.maxTextChars };
    const id = `pairing:${randomUUID()}`;
    const letter = (code: string): NewText => ({
      id,
      text:
        `This is a private agent on ${label}. Your pairing code is ${code} (valid for one hour). ` +
        `The owner lets you in with: svc channels pairing approve ${channel} ${code}`,
      ...place,
    });
    const now = clock.now();
    const code = await pairing.request(
      sender.name === undefined ? request : { ...request, senderName: nameOf(sender) },
      (made) => [outbox.insert(letter(made), now)],
    );
    refusals.refused(channel, account, message, code === undefined ? ["list", channel] : ["approve", channel, code]);
    if (code !== undefined) outbox.stored(letter(code), now);
  }

  async #take(source: Source, message: Inbound): Promise<Receipt> {
    const { sessions, store, waiting, events, pressed, log } = this.#sources;
    const { channel, account } = source;
    const known = sessions.get();
    if (!known) return unavailable("no running plugin provides sessions; see: svc plugins list");
    const sessionKey = this.#route(known, source, message);
    if (sessionKey === undefined) return { accepted: false, reason: "not-allowed" };
    const isPaired = this.#isPaired(source, message);
    const user = isUser(account, message.sender.id, isPaired);
    if (message.event && message.event.kind !== "button")
      return events.received(source, { ...message, event: message.event }, { sessionKey, user });
    const entry = await known.get(sessionKey);
    const reason = refusalOf(account, message, { isPaired, activation: entry?.["groupActivation"] });
    if (reason) {
      log.debug({ channel, account: account.id, reason }, "a message was refused");
      if (reason === "not-mentioned") await this.#keepContext(source, message);
      return { accepted: false, reason };
    }
    if (known.sendPolicy(sessionKey, entry) === "deny") {
      log.info({ channel, sessionKey }, "the send policy of a session refused a message of a channel");
      return { accepted: false, reason: "not-allowed" };
    }
    const key = message.id === undefined ? randomUUID() : messageKey(channel, account.id, message.id);
    if (message.event && (await pressed(source, message, user))) return { accepted: true, sessionKey };
    if (waiting(channel, account.id) >= MAX_WAITING) {
      if (message.id !== undefined && (await store.isKnown(key))) return { accepted: false, reason: "duplicate" };
      return unavailable("too many messages of this account wait for an answer", { retryAfterMs: BUSY_RETRY_MS });
    }
    return this.#accept(source, message, { key, sessionKey, user });
  }

  async #accept(
    source: Source,
    message: Inbound,
    { key, sessionKey, user }: { readonly key: string; readonly sessionKey: string; readonly user: boolean },
  ): Promise<Receipt> {
    const { store, context, clock, accepted } = this.#sources;
    const { channel, account } = source;
    const isCommand = isAddressed(account, message) && this.#isCommand(message.text);
    this.#lastAcceptedAt = Math.max(clock.now(), this.#lastAcceptedAt + 1); // preserves the order over a restart
    const place = contextPlace(channel, account.id, message.chat.id, message.chat.threadId);
    // The reply of a command does not use the context, so it stays for the next message.
    const before = message.chat.type === "group" && !isCommand ? await context.of(place) : [];
    const record: AcceptedMessage = {
      key,
      channel,
      accountId: account.id,
      sessionKey,
      runId: randomUUID(),
      attempt: 1,
      acceptedAt: this.#lastAcceptedAt,
      job: jobOf(source, message, { user, context: before, isCommand }),
    };
    const last = before.at(-1);
    if (!(await store.accept(record, last ? [context.forget(place, last)] : [])))
      return { accepted: false, reason: "duplicate" };
    accepted(record);
    return { accepted: true, sessionKey };
  }

  /** @throws GatewayError `UNAVAILABLE` while the plugin of commands is started or replaced */
  #isCommand(text: string): boolean {
    const { commands, isLoading } = this.#sources;
    const known = commands.get();
    if (!known && text.startsWith("/") && isLoading()) return unavailable("the commands of chats are being loaded");
    return known?.parse(text) !== undefined;
  }

  /** Keeps a message of a group for the next mention. */
  async #keepContext({ channel, account }: Source, message: Inbound): Promise<void> {
    const { context, clock } = this.#sources;
    const limit = account.historyLimit ?? HISTORY_LIMIT;
    const files = (message.media ?? []).map(({ kind }) => `[${kind}]`).join(" ");
    const text = `${wordsOf(message)} ${message.forwarded?.text ?? ""} ${files}`.trim();
    if (limit === 0 || text === "") return;
    const { chat, sender, messageId = message.id, at } = message;
    const key = messageId === undefined ? randomUUID() : contextKey(channel, account.id, chat.id, messageId);
    const kept = { key, sender: nameOf(sender), text, at: at ?? clock.now() };
    await context.keep(contextPlace(channel, account.id, chat.id, chat.threadId), kept, limit);
  }

  /** `undefined` if the ids cannot be part of a session key. */
  #route(
    sessions: Sessions,
    { channel, capabilities, account }: Source,
    { chat, sender }: Inbound,
  ): string | undefined {
    try {
      return sessions.route({
        ...inboundAddress(channel, account.id, chat, sender),
        ownSession: capabilities.ownSessions,
      }).sessionKey;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
      this.#sources.log.info(
        { channel, reason: error.message },
        "no session can be found for a message; it was refused",
      );
      return undefined;
    }
  }
}

type RefusalReason = NonNullable<ReturnType<typeof refusalOf>>;

/** What bindings match. A direct chat belongs to the person, not to the current name of the chat. */
function inboundAddress(
  channel: string,
  accountId: string,
  { type, id, threadId, parentId, guildId, teamId }: Inbound["chat"],
  sender: Inbound["sender"],
): InboundAddress {
  return {
    channel,
    accountId,
    peer: type === "direct" ? { kind: "direct", id: sender.id } : { kind: "group", id },
    ...(threadId === undefined ? {} : { threadId }),
    ...(parentId === undefined ? {} : { parentPeer: { kind: "group", id: parentId } }),
    ...(guildId === undefined ? {} : { guildId }),
    ...(teamId === undefined ? {} : { teamId }),
    ...(sender.roles === undefined ? {} : { roles: sender.roles }),
  };
}

function jobOf(
  { channel, label, capabilities, account }: Source,
  message: Inbound,
  {
    user,
    context,
    isCommand,
  }: {
    readonly user: boolean;
    readonly context: readonly ContextMessage[];
    readonly isCommand: boolean;
  },
): AcceptedMessage["job"] {
  const { chat, sender, media = [], messageId = message.id } = message;
  return {
    message: runMessage(message, user, context),
    ...(isCommand ? { command: message.text, around: aroundText(message) } : {}),
    prompt: channelPrompt(label, chat.type, capabilities),
    principal: principalOf(channel, account.id, sender.id, user),
    chatType: chat.type,
    replyTo: chat.id,
    maxTextChars: capabilities.maxTextChars,
    ...(chat.threadId === undefined ? {} : { threadId: chat.threadId }),
    ...(chat.parentId === undefined ? {} : { parentId: chat.parentId }),
    ...(chat.name === undefined ? {} : { chatName: chat.name }),
    ...(sender.name === undefined ? {} : { senderName: sender.name }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(media.length === 0 ? {} : { media }),
    ...(message.forwarded === undefined ? {} : { isForwarded: true }),
  };
}

/** Choice: in a group only a message that mentions the agent can be a command. The scopes of the sender decide what it may do. */
function isAddressed(account: ChannelAccount, message: Inbound): boolean {
  return message.event === undefined && (message.chat.type === "direct" || isMention(account, message));
}

/** Whether the sender of an accepted message still has the access it was accepted with. */
export function isStillAllowed(
  account: ChannelAccount,
  { channel, accountId, job }: AcceptedMessage,
  isApproved: Pairing["isApproved"],
): boolean {
  const { principal, chatType, replyTo, parentId } = job;
  const senderId = senderIdOf({ channel, accountId, job });
  const isPaired = isApproved(channel, accountId, senderId);
  const chat = { type: chatType, id: replyTo, ...(parentId === undefined ? {} : { parentId }) };
  const message = { chat, sender: { id: senderId }, mentioned: true, text: "-" };
  const wasUser = principal.scopes.includes("operator.write");
  return refusalOf(account, message, { isPaired }) === undefined && (!wasUser || isUser(account, senderId, isPaired));
}
