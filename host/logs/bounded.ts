/** A log of what strangers cause: they must not fill it. */
import type { Clock, Logger } from "@svc/sdk";

/** Choice: lines of one message within a minute; enough to see who fails and why. */
const LINES_A_MINUTE = 30;
const MINUTE_MS = 60_000;

interface Kind {
  /** Monotonic ms of the first line of its minute. */
  begunAt: number;
  lines: number;
  leftOut: number;
}

/**
 * `log` with at most 30 lines of each message within a minute. The last of them says that more are left out, and the next one after that
 * minute how many were (`leftOut`). Errors are never left out.
 * @param log messages are fixed texts: each is counted for as long as the gateway runs
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
