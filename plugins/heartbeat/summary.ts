/** The one event that stands for many, when too many wait for a session. Pure. */
import { floorOf, GATEWAY_WORDS, type Origin, outsideOrigin } from "@svc/sdk";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import { storedText } from "./event-text.ts";

/** How many events a summary stands for, by where they come from, and the text of the newest. */
export interface Folded {
  readonly counts: { readonly [source: string]: number };
  readonly newest: string;
}

/** An event as it waits. */
export interface WaitingEvent extends SystemEvent {
  /** How many more said the same. Absent: none. */
  readonly repeats?: number;
  /** The run that has it. Absent: none. */
  readonly runId?: string;
  /** What it stands for. Absent: itself. */
  readonly folded?: Folded;
}

/** Whose words an event is. */
export function authorOf({ origin, reason }: Pick<SystemEvent, "origin" | "reason">): Origin {
  return origin ?? outsideOrigin("gateway", reason);
}

const SOURCES: readonly (readonly [reason: RegExp, source: string])[] = [
  [/^hook:/, "webhooks"],
  [/^cron\b/, "cron jobs"],
  [/^node:/, "nodes"],
  [/^exec-event/, "commands"],
  [/^wake$/, "wake"],
];

/** @param events oldest first; some may be summaries. @param last the newest of them */
export function summaryOf(
  events: readonly WaitingEvent[],
  last: WaitingEvent,
): SystemEvent & { readonly folded: Folded } {
  const counts: Record<string, number> = {};
  const add = (source: string, count: number) => (counts[source] = (counts[source] ?? 0) + count);
  for (const { reason, repeats = 0, folded } of events) {
    if (folded) for (const [source, count] of Object.entries(folded.counts)) add(source, count);
    else add(SOURCES.find(([pattern]) => pattern.test(reason))?.[1] ?? "other sources", 1 + repeats);
  }
  const folded = { counts, newest: last.folded?.newest ?? last.text };
  return {
    id: `folded:${last.id}`,
    sessionKey: last.sessionKey,
    text: storedText(`${summaryText(counts)}; the newest: ${folded.newest}`),
    origin: floorOf(events.map(authorOf)) ?? GATEWAY_WORDS,
    ...(last.isMarked === true ? { isMarked: true } : {}),
    wake: events.some(({ wake }) => wake === "now") ? "now" : "next-heartbeat",
    reason: "folded",
    at: last.at,
    folded,
  };
}

function summaryText(counts: Folded["counts"]): string {
  const sources = Object.entries(counts);
  const total = sources.reduce((sum, [, count]) => sum + count, 0);
  const shares = sources.map(([source, count]) => `${sources.length === 1 ? "all" : count} from ${source}`);
  return `${total} older events, too many to be told one by one (${shares.join(", ")})`;
}
