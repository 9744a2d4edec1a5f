/** The `Sessions` service: keys, entries and transcripts of conversations. */
import type { Message } from "../models/messages.ts";
import type { Origin } from "../origin.ts";
import { defineService } from "../service.ts";
import type { Statement } from "../storage/service.ts";

/** A stored session, protocol/stores.md §1; fields of later capabilities are kept as they come. */
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
  readonly [field: string]: unknown;
}

/** A message of a transcript with its place in it. */
export interface TranscriptItem {
  /** 8 hex characters. */
  readonly id: string;
  readonly message: Message;
}

/** What a key means to an agent: one without `agent:` is one of its own, an empty one its main session. To be made canonical. */
export function ownSessionKey(text: string, agentId: string): string {
  const key = text.trim();
  return /^(?:agent:|global$|unknown$)/i.test(key) ? key : `agent:${agentId}:${key || "main"}`;
}

/** What `hello-ok` tells clients about keys. */
export interface SessionDefaults {
  readonly defaultAgentId: string;
  readonly mainKey: string;
  readonly mainSessionKey: string;
  readonly scope: "per-sender" | "global";
}

/** Where a message from outside comes from. Spec: http/sessions-routing.md §3. */
export interface InboundAddress {
  readonly channel: string;
  /** Default `default`. */
  readonly accountId?: string;
  readonly peer?: { readonly kind: "direct" | "group" | "channel"; readonly id: string };
  /** Of the thread's parent. */
  readonly parentPeer?: { readonly kind: "direct" | "group" | "channel"; readonly id: string };
  readonly threadId?: string;
  readonly guildId?: string;
  readonly teamId?: string;
  readonly roles?: readonly string[];
}

/** Where it goes. */
export interface Route {
  readonly agentId: string;
  readonly channel: string;
  readonly accountId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly mainSessionKey: string;
  /** Rule that decided, e.g. `binding.peer`, `default`. */
  readonly matchedBy: string;
}

/** Finds, fills and restarts conversations. */
export interface Sessions {
  defaults(): SessionDefaults;
  /** Lower-case `agent:<id>:<rest>` form, or `global`/`unknown`. @throws GatewayError `INVALID_REQUEST` for a malformed `agent:` key. Spec: protocol/methods-sessions.md §1. */
  canonicalKey(key: string): string;
  /** Agent a canonical key belongs to; the default agent for `global` and `unknown`. */
  agentOf(canonicalKey: string): string;
  get(canonicalKey: string): Promise<SessionEntry | undefined>;
  /** The entry, created with a fresh `sessionId` when missing, with `patch` merged in. Durable when it resolves. */
  ensure(canonicalKey: string, patch?: Partial<SessionEntry>): Promise<SessionEntry>;
  /** Merges `patch` (an `undefined` value removes the field). @throws GatewayError `NOT_FOUND` */
  update(canonicalKey: string, patch: Partial<SessionEntry>): Promise<SessionEntry>;
  /**
   * Appends messages, creates the session if needed, and runs `alongside` in the same transaction.
   * @returns ids of the appended messages, in order. Durable when it resolves.
   */
  append(
    canonicalKey: string,
    messages: readonly Message[],
    alongside?: readonly Statement[],
  ): Promise<readonly string[]>;
  /**
   * Takes messages out of the transcript and runs `alongside`, in one transaction; their usage stays counted. Where
   * nothing was said since `unusedSince` (epoch ms), that is `updatedAt` again. Durable when it resolves.
   */
  withdraw(
    canonicalKey: string,
    ids: readonly string[],
    options?: { readonly unusedSince?: number; readonly alongside?: readonly Statement[] },
  ): Promise<void>;
  /** The last `limit` messages, oldest first; empty for an unknown session. */
  transcript(canonicalKey: string, limit: number): Promise<readonly TranscriptItem[]>;
  /** Newest first, by the agent when given. */
  recent(options: { limit: number; agentId?: string }): Promise<readonly { key: string; entry: SessionEntry }[]>;
  count(agentId?: string): Promise<number>;
  /**
   * What a model is to be shown: the summary of the last compaction, and the messages after it, at most the last `limit`.
   */
  context(
    canonicalKey: string,
    limit: number,
  ): Promise<{
    readonly summary: string | undefined;
    /** Of the summary: with the least authority among the words it sums up; absent: the owner's. */
    readonly origin?: Origin;
    readonly items: readonly TranscriptItem[];
  }>;
  /**
   * Records that everything before the message `firstKeptId` is summed up by `summary`; the messages stay stored.
   * Raises `compactionCount`. Durable when it resolves. @throws GatewayError `NOT_FOUND` for a message that is not in the transcript
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
   * To be called for each inbound message before its run: starts the session afresh when its reset policy says so.
   * Spec: http/sessions-routing.md §5. @returns the entry to use, and whether it is a new conversation
   */
  freshen(
    canonicalKey: string,
    context?: { readonly channel?: string; readonly isThread?: boolean; readonly isGroup?: boolean },
  ): Promise<{ readonly entry: SessionEntry; readonly restarted: boolean }>;
  /** Which agent and which session a message from outside belongs to. Pure, by the configuration. */
  route(inbound: InboundAddress): Route;
  /** Whether the gateway may speak in this session: its entry, then `session.sendPolicy`. */
  sendPolicy(canonicalKey: string, entry: SessionEntry | undefined): "allow" | "deny";
  /**
   * Whether tools that run for the session `from` may see `target` and speak to it; both canonical, and neither has to exist.
   * By `tools.sessions.visibility` and `tools.agentToAgent`. Spec: http/tools-invoke.md §8.
   */
  mayTouch(from: string, target: string): Promise<boolean>;
  /** As `sessions.reset`. */
  reset(canonicalKey: string, reason: "new" | "reset"): Promise<SessionEntry>;
  /** Where sessions live, for people. */
  readonly location: string;
}

/** Conversations. Provided by the plugin `sessions`. */
export const Sessions = defineService<Sessions>()("sessions", "1.0.0");
