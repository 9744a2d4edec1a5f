/** Rows that cannot be read: counted, logged once each, and passed over, so that one never costs the rest. */
import type { Logger } from "@svc/sdk";

export interface DamageLog {
  /** A message whose JSON does not parse, or is no message. */
  message(sessionId: string, seq: number): void;
  /** An entry whose JSON does not parse: the session goes on with what its columns say. */
  entry(key: string): void;
  /** Damaged rows met since the start, each once. */
  readonly count: number;
}

/** Places remembered so that each is logged once. Choice: beyond these all are counted as new, and not logged. */
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
      log.error({ sessionId, seq, damaged: count }, "a message cannot be read and is left out; its row stays as it is");
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
