/** Structured logs: lines of JSON on standard error and in a file, secrets hidden in both. */
import type { Logger } from "@svc/sdk";
import pino from "pino";
import { consoleLine } from "./console-line.ts";
import { SecretHider } from "./hide.ts";
import { LogFile } from "./log-file.ts";
import { LOG_LEVELS, type LogLevel } from "../config/log-levels.ts";
import type { LogSettings } from "./settings.ts";
import { StandardError } from "./standard-error.ts";

export { LOG_LEVELS, type LogLevel } from "../config/log-levels.ts";

/** A log whose children carry fields of their own. */
export interface RootLogger extends Logger {
  /** Logs the error that ends the process. @returns its text, secrets hidden */
  crashed(error: unknown): string;
  child(fields: object): Logger;
  isLevelEnabled(level: LogLevel): boolean;
  /** Applies new settings to this log and all its children. */
  use(settings: LogSettings): void;
  /** Path of the log file. */
  readonly file: string;
  /** Registers secrets to hide. */
  readonly secrets: Pick<SecretHider, "know">;
  /** Closes the file. Safe to call twice; a later line opens it again. */
  close(): void;
}

/** Writes both outputs synchronously: a crash loses no line, except lines that wait for a slow reader of standard error. */
export function createLogger(settings: LogSettings, clock: { now(): number } = Date): RootLogger {
  const hider = new SecretHider();
  const standardError = new StandardError({
    onLeftOut: (leftOut) =>
      root.warn(
        { leftOut, file: file.path },
        "standard error is read too slowly: lines were dropped there; the log file has them",
      ),
  });
  const file = new LogFile({
    settings: settings.file,
    clock,
    trouble(error, lost) {
      if (error === undefined)
        root.warn({ lost, file: file.path }, "the log file can be written again; lines were lost");
      else
        root.warn({ err: error, file: file.path }, "the log file cannot be written; lines still go to standard error");
    },
  });
  let console = { ...settings.console, number: numberOf(settings.console.level) };
  let fileNumber = numberOf(settings.file.level);
  hider.use({ shapes: settings.hideShapes, patterns: settings.patterns });

  const root = pino(
    { level: lowest(settings), base: null, serializers: { err: ownFields } },
    {
      write(line: string): void {
        const level = Number(/^\{"level":(\d+)/.exec(line)?.[1]);
        const safe = hider.line(line);
        if (level >= console.number) standardError.write(consoleLine(safe, console.style));
        if (level >= fileNumber) file.write(safe);
      },
    },
  );
  const plainChild = root.child.bind(root);
  const all = [root]; // each child has its own level
  const more = {
    child(fields: object): Logger {
      const child = plainChild(fields);
      all.push(child);
      return child;
    },
    use(next: LogSettings): void {
      console = { ...next.console, number: numberOf(next.console.level) };
      fileNumber = numberOf(next.file.level);
      hider.use({ shapes: next.hideShapes, patterns: next.patterns });
      file.use(next.file);
      for (const log of all) log.level = lowest(next);
    },
    crashed(error: unknown): string {
      root.fatal({ err: error }, "the gateway exits: uncaught error");
      return hider.text(error instanceof Error ? (error.stack ?? error.message) : String(error));
    },
    secrets: hider,
    close: () => file.close(),
  };
  const logger = Object.assign(root, more) as unknown as RootLogger; // `file` is defined below
  return Object.defineProperty(logger, "file", { get: () => file.path });
}

/** Serializes errors like pino, without inherited fields: a `DOMException` has 25 constants. */
function ownFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const kept = new Set(["type", "message", "stack", "aggregateErrors", ...Object.keys(error)]);
  return Object.fromEntries(Object.entries(pino.stdSerializers.err(error)).filter(([key]) => kept.has(key)));
}

/** Number of a level in log lines; infinite for `silent`. */
function numberOf(level: LogLevel): number {
  return pino.levels.values[level] ?? Infinity;
}

function lowest({ console, file }: LogSettings): LogLevel {
  return LOG_LEVELS[Math.min(LOG_LEVELS.indexOf(console.level), LOG_LEVELS.indexOf(file.level))] ?? "silent";
}
