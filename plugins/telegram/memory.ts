/** What the plugin remembers of sent messages, because Telegram does not repeat it in later events. */
import type { InboundChat } from "@svc/sdk/channels";

/** Number of polls, and of messages, that are remembered; the oldest is forgotten first. */
const POLLS = 500;
const MESSAGES = 5_000;

/** A sent poll. */
export interface SentPoll {
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
  const messages = new Map<string, true>();
  const polls = new Map<string, SentPoll>();
  return {
    sent: (chatId, messageId) => remember(messages, `${chatId}:${messageId}`, true, MESSAGES),
    sentPoll: (pollId, poll) => remember(polls, pollId, poll, POLLS),
    isOwn: (chatId, messageId) => messages.has(`${chatId}:${messageId}`),
    pollOf: (pollId) => polls.get(pollId),
  };
}

function remember<V>(map: Map<string, V>, key: string, value: V, limit: number): void {
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= limit) return;
    map.delete(oldest);
  }
}
