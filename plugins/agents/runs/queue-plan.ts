/** Selects the waiting messages of the next turn, and builds its text. No I/O. Spec: http/sessions-routing.md §6. */
import { floorOf, type Origin, originOf, type Principal } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { ImageBlock } from "@svc/sdk/models";
import type { QueueSettings } from "./queue-settings.ts";

/** Characters of the line that replaces a message of the overflow. Spec: §6. */
export const SUMMARY_LINE_CHARS = 160;

export interface Waiting {
  readonly request: RunRequest;
  /** Absent: the message waits for its turn, without queue rules. */
  readonly queue: QueueSettings | undefined;
  /** The queue was full: only one line of it joins the next turn. */
  readonly isOverflow: boolean;
}

export interface NextTurn<W extends Waiting> {
  /** The newest of the merged messages; its run answers. */
  readonly leader: W;
  /** Messages that join the turn. Oldest first. */
  readonly merged: readonly W[];
  /** Messages of which only one line joins the turn. Oldest first. */
  readonly overflow: readonly W[];
}

/** The next turn. @param waiting oldest first @returns `undefined` when no message waits */
export function nextTurn<W extends Waiting>(waiting: readonly W[]): NextTurn<W> | undefined {
  // If only overflow is left because the rest was stopped, its newest message leads the turn.
  const first = waiting.find(({ isOverflow }) => !isOverflow) ?? waiting.at(-1);
  if (!first) return undefined;
  const rest = waiting.slice(waiting.indexOf(first));
  const end = rest.findIndex((item) => !goTogether(first, item));
  const group = end < 0 ? rest : rest.slice(0, Math.max(1, end));
  const leader = group.at(-1) ?? first;
  const overflow = waiting.slice(0, waiting.indexOf(first)).filter(({ isOverflow }) => isOverflow);
  return { leader, merged: group.slice(0, -1), overflow };
}

/** Choice: merges only messages of the same caller whose requests have the same options. */
function goTogether(first: Waiting, other: Waiting): boolean {
  if (first === other) return true;
  if (first.queue?.mode !== "collect" || other.queue?.mode !== "collect") return false;
  const fields = ["source", "lane", "model", "thinking", "timeoutMs", "extraSystemPrompt", "parentRunId"] as const;
  const [one, two] = [first.request, other.request];
  return fields.every((field) => one[field] === two[field]) && sameAuthority(one.principal, two.principal);
}

/** Whether both are the same caller with the same scopes, so that messages of one may join a run of the other. */
export function sameAuthority(one: Principal, other: Principal): boolean {
  return (
    one.id === other.id &&
    one.role === other.role &&
    one.scopes.length === other.scopes.length &&
    one.scopes.every((scope) => other.scopes.includes(scope))
  );
}

/** How a full queue makes room for one more message. */
export type Overflow<W> =
  | { readonly refuse: true }
  | { readonly refuse: false; readonly drop: readonly W[]; readonly summarize: readonly W[] };

/** @param held messages under queue rules, oldest first, without the new one */
export function makeRoom<W extends Waiting>(held: readonly W[], { cap, drop }: QueueSettings): Overflow<W> {
  const whole = held.filter(({ isOverflow }) => !isOverflow);
  const tooMany = whole.length + 1 - cap;
  if (tooMany <= 0) return { refuse: false, drop: [], summarize: [] };
  if (drop === "new") return { refuse: true };
  const oldest = whole.slice(0, tooMany);
  if (drop === "old") return { refuse: false, drop: oldest, summarize: [] };
  const lines = [...held.filter(({ isOverflow }) => isOverflow), ...oldest];
  return { refuse: false, drop: lines.slice(0, Math.max(0, lines.length - cap)), summarize: oldest };
}

/** The text of a turn: a single message unchanged, else one text with all messages. */
export function turnMessage({ leader, merged, overflow }: NextTurn<Waiting>): string {
  if (merged.length === 0 && overflow.length === 0) return leader.request.message;
  const left = overflow.map(({ request }) => `- ${summaryLine(request.message)}`);
  const one = overflow.length === 1;
  const summary = `${overflow.length} older message${one ? "" : "s"} left out because the queue was full; ${one ? "it" : "they"} began:`;
  const blocks = [...merged, leader].map(({ request }, index) => `---\nQueued #${index + 1}\n${request.message}`);
  return [
    "[Messages that arrived while the agent was busy]",
    ...(left.length === 0 ? [] : [[summary, ...left].join("\n")]),
    ...blocks,
  ].join("\n\n");
}

/** The least trusted author of a turn's text. */
export function turnOrigin({ leader, merged, overflow }: NextTurn<Waiting>): { readonly origin?: Origin } {
  const origin = floorOf([...overflow, ...merged, leader].map(({ request }) => requestOrigin(request)));
  return origin ? { origin } : {};
}

/** The author of a request's message. */
export function requestOrigin({ origin, principal }: Pick<RunRequest, "origin" | "principal">): Origin {
  return origin ?? originOf(principal);
}

export function turnImages({ leader, merged }: NextTurn<Waiting>): readonly ImageBlock[] {
  return [...merged, leader].flatMap(({ request }) => request.images ?? []);
}

function summaryLine(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return line.length <= SUMMARY_LINE_CHARS ? line || "(an image)" : `${line.slice(0, SUMMARY_LINE_CHARS - 3)}...`;
}
