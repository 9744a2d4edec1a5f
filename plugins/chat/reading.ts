/** Handlers of `chat.history` and `chat.startup`: a page of a conversation, and what is known about it. Spec: protocol/methods-chat.md §1. */
import { type Handlers, invalidRequest, type Live, notFound, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { chat } from "@svc/sdk/chat";
import type { GatewayInfo } from "@svc/sdk/gateway";
import { inputKeyOf, modelDefaults, type Models } from "@svc/sdk/models";
import type { Sessions, TranscriptItem, TranscriptPage } from "@svc/sdk/sessions";
import { shownPage, type View } from "./history.ts";

/** Messages of a page when the caller names no limit. Spec: protocol/methods-chat.md §1. */
const DEFAULT_LIMIT = 200;

export interface HistoryOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf" | "row" | "page">;
  readonly runs: Pick<AgentRuns, "active" | "state" | "wait">;
  readonly models: Live<Pick<Models, "resolve">>;
  readonly info: Pick<GatewayInfo, "aliases">;
}

type Params = ParamsOf<typeof chat.history>;
type Receipt = NonNullable<ResultOf<typeof chat.history>["inputReceipts"]>[number];

export function createHistory(options: HistoryOptions): Pick<Handlers<typeof chat>, "history" | "startup"> {
  const { sessions, runs, models, info } = options;

  /** Reads the messages and the row of the session, once each. */
  async function read(params: Params, isPaged: boolean) {
    const { sessionKey, agentId, sessionId, inputRunIds, limit = DEFAULT_LIMIT, maxChars, maxBytes } = params;
    const key = sessions.canonicalKey(sessionKey);
    refuseOtherAgent(sessions, key, agentId);
    const [row, page] = await Promise.all([sessions.row(key), sessions.page(key, placeOf(params, limit))]);
    if (sessionId !== undefined && sessionId !== row?.sessionId)
      notFound(
        `session "${key}" has no conversation "${sessionId}" now; leave out \`sessionId\` to read the current one`,
      );
    const view: View = { maxChars, maxBytes, aliases: info.aliases, marksLast: !isPaged };
    const { oldestId, ...shown } = pageOf(page, limit, view);
    return {
      sessionKey,
      ...(row?.sessionId === undefined ? {} : { sessionId: row.sessionId }),
      ...shown,
      ...(isPaged ? { ...(oldestId === undefined ? {} : { oldestId }), activeRuns: activeRuns(key) } : {}),
      thinkingLevel: row?.thinkingLevel ?? "off",
      ...(row?.verboseLevel === undefined ? {} : { verboseLevel: row.verboseLevel }),
      ...(inputRunIds ? { inputReceipts: await receiptsOf(runs, key, inputRunIds, page.items) } : {}),
      defaults: modelDefaults(models.get(), sessions.agentOf(key)),
      ...(row ? { sessionInfo: row } : {}),
      ...(page.offset !== undefined && isElsewhere(params) ? { offset: page.offset } : {}),
    };
  }

  const activeRuns = (key: string) =>
    runs.active(key).map(({ runId, startedAt }) => ({ runId, ...(startedAt === undefined ? {} : { startedAt }) }));

  return {
    history: ({ params }) => read(params, params.ids === true || params.before !== undefined),
    startup: ({ params }) => read(params, true),
  };
}

/** @throws GatewayError `INVALID_REQUEST` unless the agent, if there is one, is that of the key */
export function refuseOtherAgent(sessions: Pick<Sessions, "agentOf">, key: string, agentId: string | undefined): void {
  if (agentId === undefined || key === "global" || key === "unknown") return;
  const owner = sessions.agentOf(key);
  if (agentId.trim().toLowerCase() === owner) return;
  invalidRequest(`session ${key} belongs to agent "${owner}", not to "${agentId}"; leave out one of the two`);
}

const isElsewhere = ({ offset, messageId }: Params) => offset !== undefined || messageId !== undefined;

function placeOf({ before, offset, messageId }: Params, limit: number): Parameters<Sessions["page"]>[1] {
  if ([before, offset, messageId].filter((place) => place !== undefined).length > 1)
    invalidRequest("send only one of `before`, `offset` and `messageId`");
  if (before !== undefined) return { limit, before };
  if (messageId !== undefined) return { limit, around: messageId };
  return { limit, ...(offset === undefined ? {} : { offset }) };
}

/** The messages of a page, and how to read on. */
function pageOf(page: TranscriptPage, limit: number, view: View) {
  const { messages, firstShown, isCut } = shownPage(page, view);
  const hasMore = page.hasMore || isCut;
  const oldestId = isCut ? firstShown : page.oldestId;
  // Unreadable messages of a page that was cut are not counted: its oldest messages may then be sent twice, and none is missing.
  const first = isCut ? page.items.findIndex(({ id }) => id === firstShown) : -1;
  const covered = first < 0 ? limit : page.items.length - first;
  const next = hasMore && page.offset !== undefined ? page.offset + covered : undefined;
  return {
    messages,
    hasMore,
    ...(next === undefined ? {} : { nextOffset: next }),
    ...(page.lastSeq === undefined ? {} : { totalMessages: page.lastSeq }),
    oldestId,
  };
}

/** What became of messages. A message that was merged into another run is consumed by the message of that run. */
async function receiptsOf(
  runs: Pick<AgentRuns, "state" | "wait">,
  key: string,
  runIds: readonly string[],
  items: readonly TranscriptItem[],
): Promise<Receipt[]> {
  const stored = new Map(
    items.flatMap(({ id, message }) =>
      message.role === "user" && message.idempotencyKey !== undefined ? [[message.idempotencyKey, id] as const] : [],
    ),
  );
  async function receipt(runId: string): Promise<Receipt | undefined> {
    const own = stored.get(inputKeyOf(runId));
    if (own !== undefined) return { runId, state: "consumed", consumedByEventId: own };
    const run = await runs.state(runId);
    if (run?.sessionKey !== key) return undefined;
    if (run.status === "accepted") return { runId, state: "pending" };
    const { mergedInto } = (run.status === "aborted" && (await runs.wait(runId, 0))) || {};
    const place = mergedInto === undefined ? undefined : stored.get(inputKeyOf(mergedInto));
    return place === undefined ? undefined : { runId, state: "consumed", consumedByEventId: place };
  }
  const receipts = await Promise.all(runIds.map(receipt));
  return receipts.filter((found) => found !== undefined);
}
