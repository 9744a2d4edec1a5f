/** `sessions.usage`, `.usage.timeseries` and `.usage.logs`. Spec: protocol/methods-usage.md §4-6. */
import { usageRange, type UsageRange } from "@svc/kit/time";
import { notFound, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { sessions } from "@svc/sdk/sessions";
import { channelOfSession, chatTypeOf, parseKey, text } from "./keys.ts";
import { excerptText } from "./previews.ts";
import { cut } from "./text.ts";
import type { Transcripts } from "./transcripts.ts";
import type { ToolSum, UsageStore, UsageSubject, UsageSum } from "./usage-store.ts";
import { aggregatesOf, totalsOf, type Used, usageOf } from "./usage-summary.ts";

type UsageResult = ResultOf<typeof sessions.usage>;
type UsageRow = UsageResult["sessions"][number];
type LogRow = ResultOf<typeof sessions.logs>["logs"][number];

const DEFAULT_ROWS = 50;
/** Transcripts added up in one read, so that other reads get their turn between. */
const BATCH = 50;
const MAX_POINTS = 200;
const DEFAULT_LOGS = 200;
const MAX_LOGS = 1000;
const LOG_CHARS = 2000;

/** Fields of an entry a row shows as they are, when they are texts. */
const TEXTS = ["label", "modelOverride", "providerOverride", "modelProvider", "model"] as const;

export interface UsageSources {
  readonly store: UsageStore;
  readonly transcripts: Transcripts;
  readonly canonicalKey: (key: string) => string;
  /** Where sessions live. */
  readonly location: () => string;
}

/** One row for each session or retired transcript used in the range, newest first, and what they come to together. */
export async function reportUsage(
  { store, canonicalKey, location }: UsageSources,
  params: ParamsOf<typeof sessions.usage>,
  now: number,
): Promise<UsageResult> {
  const { key, limit = DEFAULT_ROWS, includeContextWeight = false } = params;
  const range = usageRange(params, now);
  const subjects =
    key === undefined
      ? await store.newest(range.from, limit, includeContextWeight)
      : [await store.find(canonicalKey(key), includeContextWeight)].filter((found) => found !== undefined);
  const used = await readUsage(store, subjects, range);
  return {
    updatedAt: now,
    startDate: range.startDate,
    endDate: range.endDate,
    sessions: used.map(({ subject, row, sums, tools }) => {
      const usage = usageOf(sums, tools);
      const { sessionId, report } = subject;
      return {
        ...row,
        usage: usage ? { ...usage, sessionId, sessionFile: `${location()}#${sessionId}` } : null,
        ...(includeContextWeight && { contextWeight: report === null ? null : (JSON.parse(report) as unknown) }),
      };
    }),
    totals: totalsOf(used.flatMap(({ sums }) => sums)),
    aggregates: aggregatesOf(used),
  };
}

interface UsedSubject extends Used {
  readonly subject: UsageSubject;
  readonly row: Omit<UsageRow, "usage">;
}

async function readUsage(
  store: UsageStore,
  subjects: readonly UsageSubject[],
  range: UsageRange,
): Promise<UsedSubject[]> {
  const sums = new Map<string, UsageSum[]>();
  const tools = new Map<string, ToolSum[]>();
  for (let from = 0; from < subjects.length; from += BATCH) {
    const batch = subjects.slice(from, from + BATCH).map(({ sessionId }) => sessionId);
    const owner = await store.withParts(batch);
    const ids = [...owner.keys()];
    const [someSums, someTools] = await Promise.all([store.sums(ids, range), store.toolSums(ids, range)]);
    for (const sum of someSums) collect(sums, owner.get(sum.sessionId), sum);
    for (const sum of someTools) collect(tools, owner.get(sum.sessionId), sum);
  }
  return subjects.map((subject) => {
    const row = rowOf(subject);
    const { agentId, channel } = row;
    const { sessionId } = subject;
    return { subject, row, agentId, channel, sums: sums.get(sessionId) ?? [], tools: tools.get(sessionId) ?? [] };
  });
}

function collect<T>(lists: Map<string, T[]>, key = "", item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function rowOf({ key, sessionId, updatedAt, entry }: UsageSubject): Omit<UsageRow, "usage"> {
  const agentId = parseKey(key)?.agentId;
  const channel = channelOfSession(key, entry);
  const chatType = text(entry?.["chatType"]) ?? chatTypeOf(key);
  const origin = entry?.["origin"];
  const texts = TEXTS.flatMap((field) => {
    const value = text(entry?.[field]);
    return value === undefined ? [] : [[field, value]];
  });
  return {
    ...(Object.fromEntries(texts) as Pick<UsageRow, (typeof TEXTS)[number]>), // texts by exactly these names
    ...(agentId !== undefined && { agentId }),
    ...(channel !== undefined && { channel }),
    ...(chatType !== undefined && { chatType }),
    ...(typeof origin === "object" && origin !== null && { origin }),
    key,
    sessionId,
    updatedAt,
  };
}

/** @throws GatewayError `NOT_FOUND` for a session without a transcript */
export async function usageTimeseries(
  { store, canonicalKey }: UsageSources,
  key: string,
): Promise<ResultOf<typeof sessions.timeseries>> {
  const subject = await store.find(canonicalKey(key));
  if (!subject) return notFound(`no session "${key}"; see sessions.list`);
  const ids = [...(await store.withParts([subject.sessionId])).keys()];
  return { sessionId: subject.sessionId, points: await store.points(ids, MAX_POINTS) };
}

/** The newest messages, oldest of them first. A missing session simply has none. Spec: §6. */
export async function usageLogs(
  { store, transcripts, canonicalKey }: UsageSources,
  { key, limit = DEFAULT_LOGS }: ParamsOf<typeof sessions.logs>,
): Promise<ResultOf<typeof sessions.logs>> {
  const subject = await store.find(canonicalKey(key));
  if (!subject) return { logs: [] };
  const most = Math.min(Math.max(1, Math.trunc(limit)), MAX_LOGS);
  // One character more than is shown, and the "…", tell whether there is more.
  const messages = await transcripts.logs(subject.sessionId, most, LOG_CHARS + 2);
  const logs = messages.map((message): LogRow => {
    const { at: timestamp, role, tokens, cost } = message;
    return {
      timestamp,
      role: role === "user" || role === "assistant" || role === "toolResult" ? role : "tool",
      content: cut(excerptText(message) ?? "", LOG_CHARS + 1),
      ...(tokens !== undefined && { tokens }),
      ...(cost !== undefined && { cost }),
    };
  });
  return { logs };
}
