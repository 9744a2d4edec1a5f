/** Unreadable rows: skipped, counted, and logged once each. */
import type { Logger } from "@svc/sdk";

export interface DamageLog {
  /** A message whose JSON does not parse, or is not a message. */
  message(sessionId: string, seq: number): void;
  /** An entry whose JSON does not parse: the session keeps only its columns. */
  entry(key: string): void;
  /** Distinct damaged rows since the start. */
  readonly count: number;
}

/** Remembered rows, so that each is logged once. Choice: further rows are counted each time, and not logged. */
const REMEMBERED = 10_000;

export function createDamageLog(log: Pick<Logger, "error">): DamageLog {
  const seen = new Set<string>();
  let count = 0;

  function isNew(place: string): boolean {
    if (seen.has(place)) return false;
    count += 1;
    if (seen.size >= REMEMBERED) return false;
    seen.add(place);
    return true;
  }

  return {
    message(sessionId, seq) {
      if (!isNew(`message ${sessionId} ${seq}`)) return;
      log.error(
        { sessionId, seq, damaged: count },
        "a message cannot be read and is skipped; its row is left unchanged",
      );
    },
    entry(key) {
      if (!isNew(`entry ${key}`)) return;
      log.error(
        { key, damaged: count },
        "the entry of a session cannot be read; its settings count as unset until the next change",
      );
    },
    get count() {
      return count;
    },
  };
}
