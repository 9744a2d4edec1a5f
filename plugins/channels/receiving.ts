/** Receives a message: checks access, finds the session, drops duplicates, records it and hands it on. Spec: http/sessions-routing.md §2, §3. */
import { randomUUID } from "node:crypto";
import { type Clock, isGatewayError, type Live, type Logger, type Principal, Turns, unavailable } from "@svc/sdk";
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";
import type { ChatCommands } from "@svc/sdk/commands";
import type { InboundAddress, Sessions } from "@svc/sdk/sessions";
import { isUser, refusalOf } from "./admission.ts";
import { checkedMessage, type Inbound, messageKey } from "./inbound-message.ts";
import type { AcceptedMessage, InboundStore } from "./inbound-store.ts";
import type { NewText } from "./outbox-store.ts";
import { channelPrompt, runMessage } from "./prompt.ts";
import type { Refusals } from "./refusals.ts";

/** Choice: messages of one account that may wait for an answer; further ones are refused. */
export const MAX_WAITING = 200;
export const UNSEEN_TEXT =
  "I can only read text here: pictures, files and voice messages do not reach me. Please write what it is about.";

/** The account that a message came from. */
export interface Source {
  readonly channel: string;
  readonly label: string;
  readonly maxTextChars: number;
  readonly account: ChannelAccount;
}

interface ReceivingSources {
  readonly store: Pick<InboundStore, "accept" | "isKnown">;
  readonly sessions: Live<Sessions>;
  readonly commands: Live<ChatCommands>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "info" | "debug">;
  /** Number of messages of an account that wait for an answer. */
  readonly waiting: (channel: string, accountId: string) => number;
  readonly refusals: Refusals;
  /** Sends a text that is not an answer of an agent. */
  readonly say: (text: NewText) => Promise<void>;
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
    const reason = refusalOf(account, message);
    // The session of the group also decides whether a mention is needed.
    if (reason && reason !== "not-mentioned") {
      const { refusals, log } = this.#sources;
      log.debug({ channel, account: account.id, reason }, "a message was refused");
      if (reason === "not-allowed") refusals.refused(channel, account, message);
      if (reason === "empty") await this.#tellUnseen(source, message);
      return { accepted: false, reason };
    }
    return this.#turns.take(JSON.stringify([channel, account.id]), () => this.#take(source, message));
  }

  /** Choice: a message without text is most often a picture; its sender is notified once an hour that it was not received. */
  async #tellUnseen(
    { channel, account, maxTextChars }: Source,
    { id, chat, sender, mentioned }: Inbound,
  ): Promise<void> {
    const { refusals, say, log } = this.#sources;
    if (chat.type === "group" && mentioned !== true) return;
    if (!refusals.isFirst(channel, account.id, `without text: ${sender.id}`)) return;
    const fields = { channel, account: account.id, who: sender.id };
    log.info(fields, "a message without text was refused; channels do not support pictures or files yet");
    const key = id === undefined ? randomUUID() : messageKey(channel, account.id, id);
    const thread = chat.threadId === undefined ? {} : { threadId: chat.threadId };
    const text = {
      id: `unseen:${key}`,
      channel,
      accountId: account.id,
      to: chat.id,
      text: UNSEEN_TEXT,
      maxChars: maxTextChars,
    };
    await say({ ...text, ...thread }).catch((error: unknown) =>
      log.info({ err: error, ...fields }, "the sender could not be told that the message was refused"),
    );
  }

  async #take(source: Source, message: Inbound): Promise<Receipt> {
    const { sessions, store, clock, waiting, accepted } = this.#sources;
    const { channel, account } = source;
    const known = sessions.get();
    if (!known) return unavailable("no running plugin provides sessions; see: svc plugins list");
    const sessionKey = this.#route(known, source, message);
    if (sessionKey === undefined) return { accepted: false, reason: "not-allowed" };
    const entry = await known.get(sessionKey);
    const reason = refusalOf(account, message, entry?.["groupActivation"]);
    if (reason) {
      this.#sources.log.debug({ channel, account: account.id, reason }, "a message was refused");
      return { accepted: false, reason };
    }
    if (known.sendPolicy(sessionKey, entry) === "deny") {
      this.#sources.log.info({ channel, sessionKey }, "the send policy of a session refused a message of a channel");
      return { accepted: false, reason: "not-allowed" };
    }
    const key = message.id === undefined ? randomUUID() : messageKey(channel, account.id, message.id);
    if (waiting(channel, account.id) >= MAX_WAITING) {
      const isKnown = message.id !== undefined && (await store.isKnown(key));
      return { accepted: false, reason: isKnown ? "duplicate" : "busy" };
    }
    this.#lastAcceptedAt = Math.max(clock.now(), this.#lastAcceptedAt + 1); // preserves the order over a restart
    const record: AcceptedMessage = {
      key,
      channel,
      accountId: account.id,
      sessionKey,
      runId: randomUUID(),
      attempt: 1,
      acceptedAt: this.#lastAcceptedAt,
      job: jobOf(source, message, (text) => this.#sources.commands.get()?.parse(text) !== undefined),
    };
    if (!(await store.accept(record))) return { accepted: false, reason: "duplicate" };
    accepted(record);
    return { accepted: true, sessionKey };
  }

  /** `undefined` if the ids cannot be part of a session key. */
  #route(sessions: Sessions, { channel, account }: Source, { chat, sender }: Inbound): string | undefined {
    // A direct chat belongs to the person, not to the current name of the chat.
    const peer =
      chat.type === "direct" ? ({ kind: "direct", id: sender.id } as const) : ({ kind: "group", id: chat.id } as const);
    const thread = chat.threadId === undefined ? {} : { threadId: chat.threadId };
    const address: InboundAddress = { channel, accountId: account.id, peer, ...thread };
    try {
      return sessions.route(address).sessionKey;
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

function jobOf(
  { channel, label, maxTextChars, account }: Source,
  message: Inbound,
  isCommand: (text: string) => boolean,
): AcceptedMessage["job"] {
  const { chat, sender } = message;
  const user = isUser(account, sender.id);
  return {
    message: runMessage(message, user),
    ...(user && isAddressed(message) && isCommand(message.text) ? { command: message.text } : {}),
    prompt: channelPrompt(label, chat.type, maxTextChars),
    principal: principalOf(channel, account.id, sender.id, user),
    chatType: chat.type,
    replyTo: chat.id,
    maxTextChars,
    ...(chat.threadId === undefined ? {} : { threadId: chat.threadId }),
    ...(chat.name === undefined ? {} : { chatName: chat.name }),
    ...(sender.name === undefined ? {} : { senderName: sender.name }),
  };
}

/** Choice: commands work for people the agent works for, and in a group only if the message mentions the agent. */
function isAddressed({ chat, mentioned }: Inbound): boolean {
  return chat.type === "direct" || mentioned === true;
}

/** Whether the sender of an accepted message still has the access it was accepted with. */
export function isStillAllowed(account: ChannelAccount, { channel, accountId, job }: AcceptedMessage): boolean {
  const { principal, chatType, replyTo } = job;
  const senderId = senderIdOf({ channel, accountId, job });
  const message = { chat: { type: chatType, id: replyTo }, sender: { id: senderId }, mentioned: true, text: "-" };
  const wasUser = principal.scopes.includes("operator.write");
  return refusalOf(account, message) === undefined && (!wasUser || isUser(account, senderId));
}

/** Id of the sender on the network. */
export function senderIdOf({
  channel,
  accountId,
  job,
}: Pick<AcceptedMessage, "channel" | "accountId" | "job">): string {
  return job.principal.id.slice(principalId(channel, accountId, "").length);
}

function principalId(channel: string, accountId: string, senderId: string): string {
  return `channel:${channel}:${accountId}:${senderId}`;
}

/**
 * The principal of a run: never an owner, and never one that can approve. Choice: people who are not listed by id get read access
 * only. The id keeps messages of different people from sharing a run.
 */
function principalOf(channel: string, accountId: string, senderId: string, user: boolean): Principal {
  return {
    id: principalId(channel, accountId, senderId),
    role: "operator",
    scopes: user ? ["operator.read", "operator.write"] : ["operator.read"],
    provenance: "plugin",
    epoch: 0,
  };
}
