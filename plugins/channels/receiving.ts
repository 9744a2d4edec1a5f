/** A message comes in: who may talk, where it belongs, whether it is new; then it is on disk, and somebody is told. Spec: http/sessions-routing.md §2, §3. */
import { commandIn } from "@svc/kit/chat-commands";
import { randomUUID } from "node:crypto";
import { type Clock, isGatewayError, type Live, type Logger, type Principal, Turns, unavailable } from "@svc/sdk";
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";
import type { InboundAddress, Sessions } from "@svc/sdk/sessions";
import { isUser, refusalOf } from "./admission.ts";
import { checkedMessage, type Inbound, messageKey } from "./inbound-message.ts";
import type { AcceptedMessage, InboundStore } from "./inbound-store.ts";
import type { NewText } from "./outbox-store.ts";
import { channelPrompt, runMessage } from "./prompt.ts";
import type { Refusals } from "./refusals.ts";

/** Choice: messages of one account that wait for an answer; more are turned away. */
export const MAX_WAITING = 200;
export const UNSEEN_TEXT =
  "I can only read text here: pictures, files and voice messages do not reach me. Please write what it is about.";

/** Where a message comes from. */
export interface Source {
  readonly channel: string;
  readonly label: string;
  readonly maxTextChars: number;
  readonly account: ChannelAccount;
}

interface ReceivingSources {
  readonly store: Pick<InboundStore, "accept" | "isKnown">;
  readonly sessions: Live<Sessions>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "info" | "debug">;
  /** Messages of an account that wait for an answer. */
  readonly waiting: (channel: string, accountId: string) => number;
  readonly refusals: Refusals;
  /** Sends a text that is no answer of an agent. */
  readonly say: (text: NewText) => Promise<void>;
  /** It is on disk. */
  readonly accepted: (message: AcceptedMessage) => void;
}

export class Receiving {
  readonly #sources: ReceivingSources;
  /** Messages of one account are stored in the order they came. */
  readonly #turns = new Turns();
  #lastAcceptedAt = 0;

  constructor(sources: ReceivingSources) {
    this.#sources = sources;
  }

  /** @throws GatewayError `UNAVAILABLE` it could not be taken now; `INVALID_REQUEST` it is no message */
  async receive(source: Source, given: InboundMessage): Promise<Receipt> {
    const { channel, account } = source;
    const message = checkedMessage(given);
    const reason = refusalOf(account, message);
    // Whether a mention is needed is for the session of the group to say, too.
    if (reason && reason !== "not-mentioned") {
      const { refusals, log } = this.#sources;
      log.debug({ channel, account: account.id, reason }, "a message is not taken");
      if (reason === "not-allowed") refusals.refused(channel, account, message);
      if (reason === "empty") await this.#tellUnseen(source, message);
      return { accepted: false, reason };
    }
    return this.#turns.take(JSON.stringify([channel, account.id]), () => this.#take(source, message));
  }

  /** Choice: a message without text is most often a picture; its sender is told, once an hour, that it did not arrive. */
  async #tellUnseen(
    { channel, account, maxTextChars }: Source,
    { id, chat, sender, mentioned }: Inbound,
  ): Promise<void> {
    const { refusals, say, log } = this.#sources;
    if (chat.type === "group" && mentioned !== true) return;
    if (!refusals.isFirst(channel, account.id, `without text: ${sender.id}`)) return;
    const fields = { channel, account: account.id, who: sender.id };
    log.info(fields, "a message without text was not taken; channels carry no pictures or files yet");
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
      log.info({ err: error, ...fields }, "the sender was not told"),
    );
  }

  async #take(source: Source, message: Inbound): Promise<Receipt> {
    const { sessions, store, clock, waiting, accepted } = this.#sources;
    const { channel, account } = source;
    const known = sessions.get();
    if (!known) return unavailable("no plugin keeps sessions now; see: svc plugins list");
    const sessionKey = this.#route(known, source, message);
    if (sessionKey === undefined) return { accepted: false, reason: "not-allowed" };
    const entry = await known.get(sessionKey);
    const reason = refusalOf(account, message, entry?.["groupActivation"]);
    if (reason) {
      this.#sources.log.debug({ channel, account: account.id, reason }, "a message is not taken");
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
    this.#lastAcceptedAt = Math.max(clock.now(), this.#lastAcceptedAt + 1); // the order survives a restart
    const record: AcceptedMessage = {
      key,
      channel,
      accountId: account.id,
      sessionKey,
      runId: randomUUID(),
      attempt: 1,
      acceptedAt: this.#lastAcceptedAt,
      job: jobOf(source, message),
    };
    if (!(await store.accept(record))) return { accepted: false, reason: "duplicate" };
    accepted(record);
    return { accepted: true, sessionKey };
  }

  /** `undefined`: no session key can hold its ids. */
  #route(sessions: Sessions, { channel, account }: Source, { chat, sender }: Inbound): string | undefined {
    // A direct chat belongs to who is there, not to the name the chat has at the moment.
    const peer =
      chat.type === "direct" ? ({ kind: "direct", id: sender.id } as const) : ({ kind: "group", id: chat.id } as const);
    const thread = chat.threadId === undefined ? {} : { threadId: chat.threadId };
    const address: InboundAddress = { channel, accountId: account.id, peer, ...thread };
    try {
      return sessions.route(address).sessionKey;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
      this.#sources.log.info({ channel, reason: error.message }, "a message of a channel belongs to no session");
      return undefined;
    }
  }
}

function jobOf({ channel, label, maxTextChars, account }: Source, message: Inbound): AcceptedMessage["job"] {
  const { chat, sender } = message;
  const user = isUser(account, sender.id);
  const words = user && isAddressed(message) ? wordsBesideCommand(message.text) : undefined;
  return {
    message: runMessage(words === undefined ? message : { ...message, text: words }, user),
    ...(words === undefined ? {} : { command: message.text }),
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

/** Choice: commands are for the people the agent works for, and in a group only where the message speaks to the agent. */
function isAddressed({ chat, mentioned }: Inbound): boolean {
  return chat.type === "direct" || mentioned === true;
}

/** What a command leaves to ask the agent; `undefined`: the text is no command. One that is written wrongly is one, too. */
function wordsBesideCommand(text: string): string | undefined {
  try {
    const command = commandIn(text);
    if (command?.kind === "restart") return command.text;
    return command ? text : undefined;
  } catch {
    return text;
  }
}

/** Whether whoever wrote a message that was taken may still say it, with what it was taken for. */
export function isStillAllowed(account: ChannelAccount, { channel, accountId, job }: AcceptedMessage): boolean {
  const { principal, chatType, replyTo } = job;
  const senderId = principal.id.slice(principalId(channel, accountId, "").length);
  const message = { chat: { type: chatType, id: replyTo }, sender: { id: senderId }, mentioned: true, text: "-" };
  const wasUser = principal.scopes.includes("operator.write");
  return refusalOf(account, message) === undefined && (!wasUser || isUser(account, senderId));
}

function principalId(channel: string, accountId: string, senderId: string): string {
  return `channel:${channel}:${accountId}:${senderId}`;
}

/**
 * Whom a run acts for: never an owner, and nobody an approval may come from. Choice: people who are not listed by id may
 * make it read, and no more. The id keeps messages of different people from going into one run.
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
