/** Reads the fields of log lines, for filters and people. Pure. */
import { cut, time, visible } from "@svc/sdk/cli";
import { LOG_LEVELS, type LogLevel } from "@svc/sdk/logs";

/** Subsystem of lines that the gateway itself writes. */
export const HOST = "host";

/** Maximum characters of a line shown to people. */
const MAX_SHOWN = 4_000;

export interface Filter {
  /** Lowest level. */
  readonly level?: LogLevel | undefined;
  /** Plugin id, or `host`. */
  readonly subsystem?: string | undefined;
  /** Lower case, somewhere in the line. */
  readonly text?: string | undefined;
}

/** Whether a line passes the filter. Lines that are not JSON do not pass: their level and subsystem are unknown. */
export function passes(line: string, { level, subsystem, text }: Filter): boolean {
  if (text !== undefined && !line.toLowerCase().includes(text)) return false;
  if (level === undefined && subsystem === undefined) return true;
  const fields = parse(line);
  if (!fields) return false;
  const own = fields["level"];
  if (level !== undefined && !(typeof own === "number" && own >= LOG_LEVELS[level])) return false;
  return subsystem === undefined || subsystemOf(fields) === subsystem;
}

/** One line for a terminal: time, level, subsystem, message, the error if any, and the fields that identify sender and reason. */
export function prettyLine(line: string): string {
  const fields = parse(line);
  if (!fields) return visible(cut(line, MAX_SHOWN));
  const { level, time: at, msg } = fields;
  const name = Object.entries(LOG_LEVELS).find(([, number]) => number === level)?.[0] ?? "-";
  const { message } = (fields["err"] ?? {}) as { message?: unknown };
  const said = typeof msg === "string" ? msg : "";
  const cause = typeof message === "string" && !said.includes(message) ? ` (${message})` : "";
  const when = typeof at === "number" ? time(at) : "-";
  const more = ["channel", "account", "who", "reason", "why", "next"].flatMap((key) => {
    const value = fields[key];
    return typeof value === "string" && !said.includes(value) ? [`${key}: ${value}`] : [];
  });
  const rest = more.length > 0 ? ` (${more.join(", ")})` : "";
  return `${when}  ${name.toUpperCase().padEnd(5)}  ${visible(subsystemOf(fields))}  ${visible(cut(said + cause + rest, MAX_SHOWN))}`;
}

function subsystemOf({ plugin, subsystem }: Readonly<Record<string, unknown>>): string {
  return [plugin, subsystem].find((name) => typeof name === "string") ?? HOST;
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>; // JSON that begins with a brace is an object
  } catch {
    return undefined;
  }
}
