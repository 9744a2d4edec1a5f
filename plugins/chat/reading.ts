/** Handler of `chat.history`: the last messages of a session, or a page of older ones. Spec: protocol/methods-chat.md §1. */
import type { Handler } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";
import type { Sessions } from "@svc/sdk/sessions";
import { compactionIn, shownHistory, shownPage } from "./history.ts";

/** Messages `chat.history` returns when the caller names no limit. Spec: protocol/methods-chat.md §1. */
const DEFAULT_HISTORY = 200;

export interface HistoryOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "context" | "transcript" | "page">;
  readonly runs: Pick<AgentRuns, "active">;
}

/** Choice: without `ids` or `before` the result is exactly the one of earlier versions. */
export function createHistory({ sessions, runs }: HistoryOptions): Handler<typeof chat.history> {
  /** The last messages, and the place of the last compaction among them. */
  async function latest(key: string, limit: number, maxChars: number | undefined) {
    const context = await sessions.context(key, limit);
    // Messages before a summary are only in the transcript.
    const isWhole = context.summary === undefined || context.items.length >= limit;
    const items = isWhole ? context.items : await sessions.transcript(key, limit);
    return { messages: shownHistory(items, compactionIn(context, limit), maxChars) };
  }

  async function page(key: string, limit: number, before: string | undefined, maxChars: number | undefined) {
    const read = await sessions.page(key, { limit, ...(before === undefined ? {} : { before }) });
    const { messages, firstShown, isCut } = shownPage(read, maxChars);
    const oldestId = isCut ? firstShown : read.oldestId;
    const activeRuns = runs
      .active(key)
      .map(({ runId, startedAt }) => ({ runId, ...(startedAt === undefined ? {} : { startedAt }) }));
    return {
      messages,
      hasMore: read.hasMore || isCut,
      ...(oldestId === undefined ? {} : { oldestId }),
      activeRuns,
    };
  }

  return async ({ params: { sessionKey, limit = DEFAULT_HISTORY, before, ids = false, maxChars } }) => {
    const key = sessions.canonicalKey(sessionKey);
    const [entry, read] = await Promise.all([
      sessions.get(key),
      ids || before !== undefined ? page(key, limit, before, maxChars) : latest(key, limit, maxChars),
    ]);
    return {
      sessionKey,
      ...(entry ? { sessionId: entry.sessionId } : {}),
      ...read,
      thinkingLevel: entry?.thinkingLevel ?? "off",
      ...(entry?.verboseLevel === undefined ? {} : { verboseLevel: entry.verboseLevel }),
    };
  };
}
