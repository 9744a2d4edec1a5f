/**
 * What the plugin remembers of one account, because many events only have ids. Everything is bounded: the
 * least recently used entry is forgotten first, and what is forgotten is either looked up again or missing in the message.
 */
import { type Bounded, bounded } from "@svc/kit/channels";

export interface KnownChannel {
  readonly name?: string;
  /** The channel of a thread; absent for other channels. */
  readonly parentId?: string;
}

/** A message of a person, or one of the bot. */
export interface KnownMessage {
  readonly authorId: string;
  readonly content: string;
}

/** A person in a server. */
export interface KnownPerson {
  readonly name: string;
  readonly roles?: readonly string[];
}

export interface KnownPoll {
  /** Texts by answer id; absent: not a poll of the bot. */
  readonly answers?: ReadonlyMap<number, string>;
  /** Selected answer ids by user. */
  readonly votes: Map<string, Set<number>>;
}

export interface Memory {
  /** The bot; absent before the first connection. */
  self?: { readonly id: string; readonly name: string; readonly applicationId: string };
  /** Role of the bot, by server: a connection has at most 2,500 servers. */
  readonly ownRoles: Map<string, string>;
  readonly channels: Bounded<KnownChannel>;
  readonly messages: Bounded<KnownMessage>;
  /** By `<server>/<user>`. */
  readonly people: Bounded<KnownPerson>;
  readonly polls: Bounded<KnownPoll>;
  /** Channel of the direct messages with a user. */
  readonly directs: Bounded<string>;
}

export function emptyMemory(): Memory {
  return {
    ownRoles: new Map(),
    channels: bounded(10_000),
    messages: bounded(2_000),
    people: bounded(2_000),
    polls: bounded(100),
    directs: bounded(1_000),
  };
}
