/** Limits the log lines that unknown clients can cause, so that they cannot fill the log. */
import type { Clock, Logger } from "@svc/sdk";

/** Maximum number of lines of one message per minute. Choice: enough to see which clients fail and why. */
const LINES_A_MINUTE = 30;
const MINUTE_MS = 60_000;

interface Kind {
  /** Time of the first line of the current minute. monotonic ms */
  begunAt: number;
  lines: number;
  leftOut: number;
}

/**
 * Wraps `log` to write at most 30 lines per message and minute. The 30th line states that further ones are dropped, and the first line after
 * that minute how many were (`leftOut`). Errors are never dropped.
 * @param log its messages must be fixed texts: the counter of each is kept as long as the gateway runs
 */
export function boundedLog(log: Logger, clock: Pick<Clock, "elapsed">): Logger {
  const kinds = new Map<string, Kind>();
  const bounded = (level: "debug" | "info" | "warn") => (fields: object, message: string) => {
    const now = clock.elapsed();
    const known = kinds.get(message);
    const isNew = !known || now - known.begunAt >= MINUTE_MS;
    const kind = isNew ? { begunAt: now, lines: 0, leftOut: 0 } : known;
    kinds.set(message, kind);
    kind.lines += 1;
    if (kind.lines > LINES_A_MINUTE) kind.leftOut += 1;
    else if (kind.lines === LINES_A_MINUTE)
      log[level](
        fields,
        `${message}; further lines of this kind are dropped for ${Math.ceil((kind.begunAt + MINUTE_MS - now) / 1_000)} s`,
      );
    else log[level](isNew && known && known.leftOut > 0 ? { ...fields, leftOut: known.leftOut } : fields, message);
  };
  return {
    debug: bounded("debug"),
    info: bounded("info"),
    warn: bounded("warn"),
    error: (fields, message) => log.error(fields, message),
  };
}
