/** Structured logs on standard error. */
import type { Logger } from "@svc/sdk";
import pino from "pino";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
/** When neither the configuration nor the command line says otherwise. */
export const DEFAULT_LOG_LEVEL = "warn";
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Keys whose values never reach a log, at any depth people are likely to use. */
const SECRET_KEYS = ["token", "password", "apiKey", "authorization", "deviceToken", "secret", "signature"];
const REDACT_PATHS = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);

/** A log whose children carry fields of their own. */
export interface RootLogger extends Logger {
  child(fields: object): Logger;
  isLevelEnabled(level: LogLevel): boolean;
  /** From now on, for itself and what was made by `child`. */
  setLevel(level: LogLevel): void;
}

/** JSON lines on standard error, written synchronously: a crash loses none. */
export function createLogger(level: LogLevel): RootLogger {
  const root = pino(
    { level, redact: { paths: REDACT_PATHS, censor: "[redacted]" }, base: null },
    pino.destination({ dest: 2, sync: true }),
  );
  const plainChild = root.child.bind(root);
  const all = [root]; // a child has a level of its own
  return Object.assign(root, {
    child(fields: object): Logger {
      const child = plainChild(fields);
      all.push(child);
      return child;
    },
    setLevel(next: LogLevel): void {
      for (const log of all) log.level = next;
    },
  }) as RootLogger;
}
