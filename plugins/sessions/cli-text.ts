/** The output of `svc sessions` for people. Pure. */
import type { ResultOf, Static } from "@svc/sdk";
import { cut, table } from "@svc/sdk/cli";
import type { SessionRow, sessions } from "@svc/sdk/sessions";
import type { sessionsUsage } from "@svc/sdk/usage";
import { oneLine } from "./transcripts/text.ts";

type Row = Static<typeof SessionRow>;
type Preview = ResultOf<typeof sessions.preview>["previews"][number];
type Usage = ResultOf<typeof sessionsUsage.report>;

const TITLE_CHARS = 48;

/** One line per session: key, age, model, tokens, title. @param now epoch ms @param filtered the list was restricted */
export function listLines(rows: readonly Row[], now: number, filtered = false): string[] {
  if (rows.length === 0)
    return [filtered ? "No matching sessions. List all: svc sessions list" : "No sessions. Start one: svc chat"];
  return table(
    rows.map(({ key, updatedAt, model, totalTokens, label, derivedTitle }) => [
      key,
      updatedAt === null ? "never used" : age(now - updatedAt),
      model ?? "no model",
      totalTokens === undefined ? "" : `${number(totalTokens)} tokens`,
      cut(oneLine(label ?? derivedTitle ?? ""), TITLE_CHARS),
    ]),
  );
}

/** One line per field; times as ISO, objects as JSON. */
export function entryLines(entry: object): string[] {
  return table(
    Object.entries(entry)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([field, value]) => [
        `${field}:`,
        field === "updatedAt" && typeof value === "number" ? new Date(value).toISOString() : plain(value),
      ]),
  );
}

export function previewLines({ items, damaged = 0 }: Preview): string[] {
  const lines = items.map(({ role, text }) => `${role}: ${text}`);
  const note = damaged > 0 ? [`(${damaged} messages cannot be read; see the log of the gateway)`] : [];
  return lines.length + note.length === 0 ? ["No messages yet."] : [...lines, ...note];
}

export function compactLines(result: ResultOf<typeof sessions.compact>): string[] {
  const { key, compacted, kept = 0, archived, reason } = result;
  if (reason === "no transcript") return [`${key} has no messages; nothing to do`];
  if (!compacted) return [`${key} has only ${counted(kept, "message")}; nothing to do`];
  return [
    `${key} keeps its last ${counted(kept, "message")}`,
    ...(archived === undefined ? [] : [`the earlier messages are archived as ${archived}`]),
  ];
}

export function usageLines({ startDate, endDate, sessions: rows, totals, aggregates }: Usage): string[] {
  const used = rows.filter(({ usage }) => usage !== null);
  return [
    `${startDate} to ${endDate} (UTC): ${tokensAndCost(totals)}`,
    ...used.flatMap(({ key, usage }) => (usage === null ? [] : [`  ${key}: ${tokensAndCost(usage)}`])),
    ...aggregates.byModel.map(
      ({ provider = "?", model = "?", count, totals: some }) =>
        `  model ${provider}/${model}: ${counted(count, "answer")}, ${tokensAndCost(some)}`,
    ),
  ];
}

/** Prints an unknown sum as unknown, not as 0. */
function tokensAndCost({
  totalTokens,
  totalCost,
  missingCostEntries,
  missingUsageEntries: unreported = 0,
}: Usage["totals"]): string {
  if (unreported === 0) return `${number(totalTokens)} tokens, ${money(totalCost, missingCostEntries)}`;
  const rest = `${counted(unreported, "answer")} whose provider reported no usage`;
  if (totalTokens === 0) return `tokens and cost unknown (${rest})`;
  return `${number(totalTokens)} tokens, ${money(totalCost, missingCostEntries)} (without ${rest})`;
}

function money(dollars: number, unpriced: number): string {
  return `$${dollars.toFixed(4)}${unpriced > 0 ? ` (${counted(unpriced, "answer")} without a price)` : ""}`;
}

/** `1 answer`, `2 answers`. */
function counted(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}

/** Whole minutes, hours or days ago. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes}m ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ago` : `${Math.floor(hours / 24)}d ago`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
