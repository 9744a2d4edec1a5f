/** Derives the log settings from the section `logging`. Pure. */
import { join, resolve } from "node:path";
import type { LoggingSection } from "../config/host-schema.ts";
import { LOG_LEVELS, type LogLevel } from "../config/log-levels.ts";
import type { Environment, Paths } from "../config/paths.ts";

/** Default level of standard error. */
export const DEFAULT_LOG_LEVEL = "warn";
/** Default level of the log file. */
const DEFAULT_FILE_LEVEL = "info";

const MIB = 1_048_576;

/** Where log files are kept, and for how long. */
export interface FileSettings {
  readonly level: LogLevel;
  readonly directory: string;
  /** Name of the log file; `undefined`: one file per day, `svc-YYYY-MM-DD.log`. */
  readonly name: string | undefined;
  /** A file that would exceed this size is renamed first. */
  readonly maxFileBytes: number;
  /** Files not written to for this many days are deleted. */
  readonly retentionDays: number;
  /** The oldest files are deleted while the total size exceeds this; the newest two stay. */
  readonly maxTotalBytes: number;
}

export interface LogSettings {
  readonly console: { readonly level: LogLevel; readonly style: "json" | "compact" | "pretty" };
  readonly file: FileSettings;
  /** Whether text that looks like a secret is hidden, in addition to known secrets. */
  readonly hideShapes: boolean;
  /** Regular expressions of further text to hide. */
  readonly patterns: readonly string[];
}

/**
 * @param fixed level of both outputs that overrides the section. @param isTerminal whether standard error is a terminal
 * Choice: the file is in the state directory, not in a temporary directory shared by all users. A configured path is relative to the state
 * directory unless it is absolute or begins with `~/`. Limits: 50 MiB per file; in total 500 MiB and 7 days.
 */
export function logSettings(
  section: LoggingSection,
  paths: Pick<Paths, "stateDir" | "home">,
  fixed?: LogLevel,
  isTerminal = false,
): LogSettings {
  const usual = isTerminal ? "compact" : "json";
  const { level, consoleLevel, consoleStyle = usual, file, redactSensitive = "tools", redactPatterns = [] } = section;
  const chosen =
    file &&
    resolve(
      paths.stateDir,
      file.replace(/^~(?=\/)/, () => paths.home),
    );
  return {
    console: { level: fixed ?? consoleLevel ?? level ?? DEFAULT_LOG_LEVEL, style: consoleStyle },
    file: {
      level: fixed ?? level ?? DEFAULT_FILE_LEVEL,
      directory: chosen ? resolve(chosen, "..") : join(paths.stateDir, "logs"),
      name: chosen?.slice(chosen.lastIndexOf("/") + 1),
      maxFileBytes: section.maxFileBytes ?? 50 * MIB,
      retentionDays: section.retentionDays ?? 7,
      maxTotalBytes: section.maxTotalBytes ?? 500 * MIB,
    },
    hideShapes: redactSensitive !== "off",
    patterns: redactPatterns,
  };
}

/** `SVC_LOG_LEVEL`, which overrides the configuration; an invalid level counts as unset. Spec: http/config.md §7.8. */
export function levelFrom(env: Environment): LogLevel | undefined {
  const wanted = env["SVC_LOG_LEVEL"]?.trim();
  return LOG_LEVELS.find((level) => level === wanted);
}
