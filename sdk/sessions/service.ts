/** The `Sessions` service: keys, entries and transcripts of conversations. */
import type { Message } from "../models/messages.ts";
import type { Origin } from "../origin.ts";
import type { Static } from "../schema.ts";
import { defineService } from "../service.ts";
import type { Statement } from "../storage/service.ts";
import type { SessionRow } from "./contract.ts";

/** A stored session, protocol/stores.md §1; unknown fields are preserved. */
export interface SessionEntry {
  readonly sessionId: string;
  /** epoch ms */
  readonly updatedAt: number;
  readonly label?: string;
  readonly displayName?: string;
  readonly spawnedBy?: string;
  readonly thinkingLevel?: string;
  readonly verboseLevel?: string;
  readonly sendPolicy?: "allow" | "deny";
  readonly abortedLastRun?: boolean;
  readonly model?: string;
  readonly modelProvider?: string;
  readonly modelOverride?: string;
  readonly providerOverride?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly totalTokensFresh?: boolean;
  readonly contextTokens?: number;
  /** Session from which a person opened this one. */
  readonly parentSessionKey?: string;
  /** epoch ms */
  readonly pinnedAt?: number;
  /** epoch ms; applies until the session is used again (`updatedAt`). */
  readonly archivedAt?: number;
  /** epoch ms */
  readonly lastReadAt?: number;
  /** epoch ms */
  readonly markedUnreadAt?: number;
  readonly [field: string]: unknown;
}

/** A message of a transcript and its id. */
export interface TranscriptItem {
  /** 8 hex characters. */
  readonly id: string;
  /**
   * Number of the message in its conversation, from 1. It stays the same when older messages are moved to an archive;
   * numbers of withdrawn messages may be missing or reused.
   */
  readonly seq?: number;
  readonly message: Message;
}

/** A part of a transcript, oldest message first. */
export interface TranscriptPage {
  readonly items: readonly TranscriptItem[];
  /** Id of the oldest stored message of the page, which may be unreadable and thus not in `items`. Absent: no message. */
  readonly oldestId?: string;
  /** There are older messages. */
  readonly hasMore: boolean;
  /** Ids of those items that were the first ones a compaction kept. */
  readonly firstKept: readonly string[];
  /** Number of newer messages that the page leaves out; absent for a page `before` a message. */
  readonly offset?: number;
  /** `seq` of the newest message of the conversation. Absent: it has none. */
  readonly lastSeq?: number;
}

/**
 * Interprets a key from the point of view of an agent: a key without `agent:` is one of its own sessions, an empty key
 * its main session. The result must still be made canonical.
 */
export function ownSessionKey(text: string, agentId: string): string {
  const key = text.trim();
  return /^(?:agent:|global$|unknown$)/i.test(key) ? key : `agent:${agentId}:${key || "main"}`;
}

/** Session facts that `hello-ok` sends to clients. */
export interface SessionDefaults {
  readonly defaultAgentId: string;
  readonly mainKey: string;
  readonly mainSessionKey: string;
  readonly scope: "per-sender" | "global";
}

/** Source address of an incoming message. Spec: http/sessions-routing.md §3. */
export interface InboundAddress {
  readonly channel: string;
  /** Default `default`. */
  readonly accountId?: string;
  readonly peer?: { readonly kind: "direct" | "group" | "channel"; readonly id: string };
  /** Peer of the thread's parent. */
  readonly parentPeer?: { readonly kind: "direct" | "group" | "channel"; readonly id: string };
  readonly threadId?: string;
  readonly guildId?: string;
  readonly teamId?: string;
  readonly roles?: readonly string[];
  /** A direct chat has a session of its own, whatever `session.dmScope` and `session.identityLinks` say. Default false. */
  readonly ownSession?: boolean | undefined;
}

/** Agent and session that receive a message. */
export interface Route {
  readonly agentId: string;
  readonly channel: string;
  readonly accountId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly mainSessionKey: string;
  /** The rule that matched, e.g. `binding.peer`, `default`. */
  readonly matchedBy: string;
}

/** A change of a session that is stored. */
export interface SessionChange {
  /** Canonical. */
  readonly key: string;
  /** `send`: messages were appended; `compact`: some were removed or summarized; `run`: a run began or ended. */
  readonly reason: "create" | "send" | "patch" | "reset" | "compact" | "delete" | "run";
  /** Of the appended messages, oldest first; with `send`. */
  readonly messageIds?: readonly string[];
  /** With `run`. */
  readonly run?: { readonly runId: string; readonly phase: "start" | "end" };
}

/** Finds, fills and resets conversations. */
export interface Sessions {
  defaults(): SessionDefaults;
  /**
   * Canonical form: lower-case `agent:<id>:<rest>`, or `global`/`unknown`. Spec: protocol/methods-sessions.md §1.
   * @throws GatewayError `INVALID_REQUEST` for a malformed `agent:` key
   */
  canonicalKey(key: string): string;
  /** Agent of a canonical key; the default agent for `global` and `unknown`. */
  agentOf(canonicalKey: string): string;
  get(canonicalKey: string): Promise<SessionEntry | undefined>;
  /** The row that `sessions.list` returns for a session. @returns `undefined` for an unknown session */
  row(
    canonicalKey: string,
    options?: { readonly includeDerivedTitles?: boolean; readonly includeLastMessage?: boolean },
  ): Promise<Static<typeof SessionRow> | undefined>;
  /** The entry with `patch` merged in, created with a new `sessionId` if missing. Durable when it resolves. */
  ensure(canonicalKey: string, patch?: Partial<SessionEntry>): Promise<SessionEntry>;
  /**
   * Creates a session with an id that a client chose; an existing session of the key stays as it is. Durable when it resolves.
   * @throws GatewayError `INVALID_REQUEST` for a malformed id, `CONFLICT` when the id is that of a retired transcript
   */
  begin(canonicalKey: string, sessionId: string): Promise<SessionEntry>;
  /** Merges `patch` (an `undefined` value removes the field). @throws GatewayError `NOT_FOUND` */
  update(canonicalKey: string, patch: Partial<SessionEntry>): Promise<SessionEntry>;
  /**
   * Appends messages, creates the session if needed, and runs `alongside` in the same transaction. Durable when it
   * resolves.
   * @returns ids of the appended messages, in order
   */
  append(
    canonicalKey: string,
    messages: readonly Message[],
    alongside?: readonly Statement[],
  ): Promise<readonly string[]>;
  /**
   * Removes messages from the transcript and runs `alongside` in one transaction; their usage stays counted. If there
   * are no newer messages since `unusedSince` (epoch ms), `updatedAt` is reset to it. Durable when it resolves.
   */
  withdraw(
    canonicalKey: string,
    ids: readonly string[],
    options?: { readonly unusedSince?: number; readonly alongside?: readonly Statement[] },
  ): Promise<void>;
  /** The last `limit` messages, oldest first; empty for an unknown session. */
  transcript(canonicalKey: string, limit: number): Promise<readonly TranscriptItem[]>;
  /**
   * The last `limit` messages: of all, without the newest `offset` ones, of those before the message `before`, or with the
   * message `around` in their middle. At most one of the three is used. Empty for an unknown session.
   * @throws GatewayError `NOT_FOUND` when `before` or `around` is not in the transcript
   */
  page(
    canonicalKey: string,
    options: {
      readonly limit: number;
      readonly offset?: number;
      readonly before?: string;
      readonly around?: string;
    },
  ): Promise<TranscriptPage>;
  /** One message of the transcript. */
  message(canonicalKey: string, id: string): Promise<Message | undefined>;
  /**
   * Removes a message and all later ones from the conversation, so that it can take another course; they move to a
   * retired transcript, and their usage stays counted. Durable when it resolves.
   * @throws GatewayError `NOT_FOUND` when the message is not in the transcript
   */
  rewind(canonicalKey: string, id: string): Promise<void>;
  /** Newest sessions first, optionally of one agent. */
  recent(options: { limit: number; agentId?: string }): Promise<readonly { key: string; entry: SessionEntry }[]>;
  count(agentId?: string): Promise<number>;
  /** What a model is shown: the summary of the last compaction and the messages after it, at most the last `limit`. */
  context(
    canonicalKey: string,
    limit: number,
  ): Promise<{
    readonly summary: string | undefined;
    /** Origin of the summary: the one with the least authority among the summarized texts; absent: the owner. */
    readonly origin?: Origin;
    readonly items: readonly TranscriptItem[];
  }>;
  /**
   * Records that `summary` replaces everything before the message `firstKeptId`; the messages stay stored. Increments
   * `compactionCount`. Durable when it resolves.
   * @throws GatewayError `NOT_FOUND` for a message that is not in the transcript
   */
  addCompaction(
    canonicalKey: string,
    compaction: {
      readonly summary: string;
      readonly firstKeptId: string;
      readonly tokensBefore: number;
      readonly origin?: Origin;
    },
  ): Promise<void>;
  /**
   * Call this for each incoming message before its run: resets the session if its reset policy requires it. Spec:
   * http/sessions-routing.md §5.
   * @returns the entry to use, and whether it is a new conversation
   */
  freshen(
    canonicalKey: string,
    context?: { readonly channel?: string; readonly isThread?: boolean; readonly isGroup?: boolean },
  ): Promise<{ readonly entry: SessionEntry; readonly restarted: boolean }>;
  /** Agent and session for an incoming message, from the configuration. Pure. */
  route(inbound: InboundAddress): Route;
  /** Whether the gateway may send messages in this session: from its entry, then `session.sendPolicy`. */
  sendPolicy(canonicalKey: string, entry: SessionEntry | undefined): "allow" | "deny";
  /**
   * Whether tools running for the session `from` may read and write to `target`; both keys are canonical, neither
   * session has to exist. Decided by `tools.sessions.visibility` and `tools.agentToAgent`. Spec: http/tools-invoke.md
   * §8.
   */
  mayTouch(from: string, target: string): Promise<boolean>;
  /**
   * Calls `listener` after each change of a session, on whichever gateway on this state it happened; those of others come up to 100 ms
   * later. Runs are told by the gateway that carries them out. @returns ends it
   */
  follow(listener: (change: SessionChange) => void): () => void;
  /** Same as `sessions.reset`. */
  reset(canonicalKey: string, reason: "new" | "reset"): Promise<SessionEntry>;
  /** Location of the session store, shown to people. */
  readonly location: string;
}

/** Token of the service. */
export const Sessions = defineService<Sessions>()("sessions", "1.0.0", {
  summary:
    "Stores conversations. Provided by the plugin `sessions`; used by agents, chats, channels and HTTP endpoints.",
});
