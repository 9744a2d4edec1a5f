/** Formats a log line for standard error. Pure. */
import { visible } from "@svc/sdk/cli";
import type { LogSettings } from "./settings.ts";

const NAMES: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "FATAL",
};

/**
 * Times are UTC. Terminal control characters are escaped.
 * @param line JSON, secrets already hidden
 * @param style `json`: the unchanged line. `compact`: time of day, level, plugin and message; then the reason (the message of an
 *   error, or the field `reason`) and the code location in the plugin's own files, unless the message contains them. `pretty`: also
 *   the date, the other fields and the stack of an error.
 */
export function consoleLine(line: string, style: LogSettings["console"]["style"]): string {
  if (style === "json") return line;
  const { level, time, msg = "", plugin, err, ...fields } = JSON.parse(line) as Record<string, unknown>; // written by this log
  const at = new Date(Number(time)).toISOString();
  const { stack, message } = (err ?? {}) as { stack?: unknown; message?: unknown };
  const head = [
    style === "compact" ? at.slice(11, 19) : `${at.slice(0, 10)} ${at.slice(11, 23)}`,
    (NAMES[Number(level)] ?? String(level)).padEnd(5),
    ...(plugin === undefined ? [] : [`${shown(plugin)}:`]),
    shown(msg),
  ];
  if (style === "compact") {
    const told = message ?? fields["reason"];
    const [reason = ""] = typeof told === "string" ? told.split("\n", 1) : [];
    const place = placeIn(typeof stack === "string" ? stack : "");
    const sentence = typeof msg === "string" ? msg : "";
    const why = [
      ...(sentence.endsWith(reason) ? [] : [reason]),
      ...(`${sentence} ${reason}`.includes(place) ? [] : [`at ${place}`]),
    ].join(", ");
    return `${[...head, ...(why === "" ? [] : [`(${shown(why)})`])].join(" ")}\n`;
  }
  const rest = Object.entries(fields).map(([key, value]) => `${visible(key)}=${shown(value)}`);
  const trace = typeof stack === "string" ? stack.split("\n").map((row) => `\n    ${visible(row)}`) : [];
  return `${[...head, ...rest].join(" ")}${trace.join("")}\n`;
}

/** Stack frames of Node, libraries and built code: files the reader of the log has not written. */
const FOREIGN = /node:|[\\/]node_modules[\\/]|[\\/]dist[\\/]/;

/** `file:line` of the first frame outside of such files, or "". Without the column, which refers to compiled code. */
function placeIn(stack: string): string {
  for (const frame of stack.split("\n").filter((row) => /^\s+at /.test(row) && !FOREIGN.test(row))) {
    const [, file, line] =
      /(?:file:\/\/)?(\/[^()]*?|[A-Z]:\\[^()]*?)(?:\?[^:()]*)?:(\d+)(?::\d+)?\)?$/.exec(frame) ?? [];
    if (file !== undefined) return `${file}:${line}`;
  }
  return "";
}

function shown(value: unknown): string {
  return visible(typeof value === "string" ? value : JSON.stringify(value));
}
