/** Logger of Slack's libraries: silent, because their lines contain messages, and every failure is reported otherwise. */
import type { Logger, LogLevel } from "@slack/web-api";

const ignore = () => undefined;

export const QUIET: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  setLevel: ignore,
  setName: ignore,
  getLevel: () => "error" as LogLevel, // an enum of the library, which is imported later
};
