/** Detects repeated transcripts. Spec: protocol/methods-node.md §3, `voice.transcript`. */
import type { Clock } from "@svc/sdk";
import { fieldsOf, textField } from "./values.ts";

/** Milliseconds within which a repeated transcript is ignored. */
export const DEDUPE_MS = 1_500;
/** Choice: maximum remembered transcripts. */
const MAX_REMEMBERED = 1_000;

/** Identity of a transcript: its id, else its sequence in a call, else its time in a call, else its time and text. */
export function fingerprintOf(payload: unknown, text: string): string {
  const fields = fieldsOf(payload);
  const first = (...keys: readonly string[]) =>
    keys.map((key) => valueText(fields[key])).find((value) => value !== undefined);
  const id = first("eventId", "providerEventId", "transcriptId");
  if (id !== undefined) return JSON.stringify(["id", id]);
  const call = first("providerCallId", "callId");
  const sequence = first("sequence", "seq");
  if (call !== undefined && sequence !== undefined) return JSON.stringify(["seq", call, sequence]);
  const time = first("timestamp", "ts", "eventTimestamp");
  if (call !== undefined && time !== undefined) return JSON.stringify(["time", call, time]);
  return JSON.stringify(["text", time, text]);
}

function valueText(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return textField({ value }, "value")?.slice(0, 200);
}

export class RecentTranscripts {
  /** Elapsed ms, oldest first. */
  readonly #seen = new Map<string, number>();
  readonly #clock: Pick<Clock, "elapsed">;

  constructor(clock: Pick<Clock, "elapsed">) {
    this.#clock = clock;
  }

  /** Records the transcript. @returns whether it is new */
  isNew(...what: readonly string[]): boolean {
    const key = JSON.stringify(what);
    const now = this.#clock.elapsed();
    const before = this.#seen.get(key);
    if (before !== undefined && now - before < DEDUPE_MS) return false;
    this.#seen.delete(key);
    this.#seen.set(key, now);
    for (const [old, at] of this.#seen) {
      if (this.#seen.size <= MAX_REMEMBERED && now - at < DEDUPE_MS) break;
      this.#seen.delete(old);
    }
    return true;
  }

  /** Removes a transcript that was not accepted, so that a repetition counts as new. */
  forget(...what: readonly string[]): void {
    this.#seen.delete(JSON.stringify(what));
  }
}
