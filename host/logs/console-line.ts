/** A line of the log as standard error shows it. Pure. */
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
 * @param line JSON, secrets hidden. `json`: as it is. `compact`: time of day, level, plugin and sentence. `pretty`: the
 * date, the other fields and the stack of an error as well. Times are UTC. What steers a terminal is spelled out.
 */
export function consoleLine(line: string, style: LogSettings["console"]["style"]): string {
  if (style === "json") return line;
  const { level, time, msg = "", plugin, err, ...fields } = JSON.parse(line) as Record<string, unknown>; // our own line
  const at = new Date(Number(time)).toISOString();
  const { stack, message } = (err ?? {}) as { stack?: unknown; message?: unknown };
  const head = [
    style === "compact" ? at.slice(11, 19) : `${at.slice(0, 10)} ${at.slice(11, 23)}`,
    (NAMES[Number(level)] ?? String(level)).padEnd(5),
    ...(plugin === undefined ? [] : [`${shown(plugin)}:`]),
    shown(msg),
  ];
  if (style === "compact") return `${[...head, ...(message === undefined ? [] : [`(${shown(message)})`])].join(" ")}\n`;
  const rest = Object.entries(fields).map(([key, value]) => `${visible(key)}=${shown(value)}`);
  const trace = typeof stack === "string" ? stack.split("\n").map((row) => `\n    ${visible(row)}`) : [];
  return `${[...head, ...rest].join(" ")}${trace.join("")}\n`;
}

function shown(value: unknown): string {
  return visible(typeof value === "string" ? value : JSON.stringify(value));
}
