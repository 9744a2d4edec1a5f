/** What the log does, from the section `logging`. Pure. */
import { join, resolve } from "node:path";
import type { LoggingSection } from "../config/host-schema.ts";
import { LOG_LEVELS, type LogLevel } from "../config/log-levels.ts";
import type { Environment, Paths } from "../config/paths.ts";

/** On standard error, when neither the configuration nor the command line says otherwise. */
export const DEFAULT_LOG_LEVEL = "warn";
/** In the file. */
const DEFAULT_FILE_LEVEL = "info";

const MIB = 1_048_576;

/** Where lines are kept, and for how long. */
export interface FileSettings {
  readonly level: LogLevel;
  readonly directory: string;
  /** Of the file that is written to; `undefined`: one a day, `svc-YYYY-MM-DD.log`. */
  readonly name: string | undefined;
  /** A file that would grow beyond it is renamed first. */
  readonly maxFileBytes: number;
  /** Files that were not written to for so many days go. */
  readonly retentionDays: number;
  /** The oldest files go while all together are larger; the youngest two stay. */
  readonly maxTotalBytes: number;
}

export interface LogSettings {
  readonly console: { readonly level: LogLevel; readonly style: "json" | "compact" | "pretty" };
  readonly file: FileSettings;
  /** Texts that look like secrets are hidden, besides the secrets that are known. */
  readonly hideShapes: boolean;
  /** Regular expressions of further texts that are hidden. */
  readonly patterns: readonly string[];
}

/**
 * @param fixed level of both that wins over the section. @param isTerminal standard error is read by a person
 * Choice: the file lies in the state directory and not in a temporary one that all users share. A name somebody chose
 * is below the state directory unless it is absolute or begins with `~/`. 50 MiB a file, 500 MiB and 7 days of
 * all.
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

/** `SVC_LOG_LEVEL`, which wins over the configuration; anything that is no level counts as unset. Spec: http/config.md §7.8. */
export function levelFrom(env: Environment): LogLevel | undefined {
  const wanted = env["SVC_LOG_LEVEL"]?.trim();
  return LOG_LEVELS.find((level) => level === wanted);
}
