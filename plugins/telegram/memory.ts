/** What the plugin remembers of sent messages, because Telegram does not repeat it in later events. */
import { bounded } from "@svc/kit/channels";
import type { InboundChat } from "@svc/sdk/channels";

/** Number of polls, and of messages, that are remembered. */
const POLLS = 500;
const MESSAGES = 5_000;

/** A sent poll. */
interface SentPoll {
  readonly chat: InboundChat;
  readonly options: readonly string[];
}

export interface Memory {
  sent(chatId: string, messageId: string): void;
  sentPoll(pollId: string, poll: SentPoll): void;
  /** Whether the message was sent since the plugin started. */
  isOwn(chatId: string, messageId: string): boolean;
  pollOf(pollId: string): SentPoll | undefined;
}

export function createMemory(): Memory {
  const messages = bounded<true>(MESSAGES);
  const polls = bounded<SentPoll>(POLLS);
  return {
    sent: (chatId, messageId) => messages.set(`${chatId}:${messageId}`, true),
    sentPoll: (pollId, poll) => polls.set(pollId, poll),
    isOwn: (chatId, messageId) => messages.get(`${chatId}:${messageId}`) === true,
    pollOf: (pollId) => polls.get(pollId),
  };
}
