/** Summary event that replaces the oldest events of a session when too many wait. Pure. */
import { floorOf, GATEWAY_WORDS, type Origin, outsideOrigin } from "@svc/sdk";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import { storedText } from "./event-text.ts";

/** Number of folded events by source, and the text of the newest. */
export interface Folded {
  readonly counts: { readonly [source: string]: number };
  readonly newest: string;
}

/** A stored, waiting event. */
export interface WaitingEvent extends SystemEvent {
  /** Number of further equal events. Absent: none. */
  readonly repeats?: number;
  /** The run it is assigned to. Absent: none. */
  readonly runId?: string;
  /** Set for a summary: the events it stands for. */
  readonly folded?: Folded;
}

/** The author of an event. */
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
  return `${total} older events, too many to report individually (${shares.join(", ")})`;
}
