/** `svc logs`: shows the log of the gateway to people. */
import { invalidRequest, notFound } from "@svc/sdk";
import { type CommandContext, defineCommands, visibleLines } from "@svc/sdk/cli";
import { LOG_LEVELS, type LogLevel } from "@svc/sdk/logs";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Feed, type FeedOptions } from "./feed.ts";
import { prettyLine } from "./lines.ts";

const LEVELS: readonly string[] = Object.keys(LOG_LEVELS);
const DEFAULT_LINES = 200;
const MAX_LINES = 5_000;
/** Spec: protocol/methods-logs.md "No push". */
const DEFAULT_INTERVAL_MS = 1_000;

export default defineCommands([
  {
    name: "logs",
    summary: "Show or follow the log of the gateway",
    options: [
      { flags: "-f, --follow", description: "print new lines as they arrive, also across restarts of the gateway" },
      { flags: "--limit <n>", description: `lines to start with, 1 to ${MAX_LINES}`, default: String(DEFAULT_LINES) },
      { flags: "--level <level>", description: `lowest level to show: ${LEVELS.join(", ")}` },
      { flags: "--subsystem <id>", description: "only lines of this plugin; host: lines of the gateway itself" },
      { flags: "--file <path>", description: "read this file instead of calling a gateway" },
      {
        flags: "--interval <ms>",
        description: "polling interval with --follow, in milliseconds",
        default: String(DEFAULT_INTERVAL_MS),
      },
    ],
    examples: [
      "svc logs --limit 50",
      "svc logs --follow --level warn",
      "svc logs --follow --subsystem sessions --json",
    ],
    async run(context) {
      const feed = new Feed(context, settingsOf(context.options));
      const interval = wholeNumber("--interval", context.options["interval"], 10, 3_600_000);
      try {
        await show(context, feed, context.options["follow"] === true ? interval : undefined);
      } finally {
        await feed.close();
      }
    },
  },
]);

/** @param intervalMs polling interval; `undefined`: print the existing lines and return */
async function show(context: CommandContext, feed: Feed, intervalMs: number | undefined): Promise<void> {
  let before = "";
  for (let isFirst = true; ; isFirst = false) {
    const answer = await feed.next();
    if (answer?.part === undefined && isFirst) noteAbsent(context, intervalMs !== undefined);
    if (answer?.reset) context.note("Some lines before these are lost.");
    for (const line of answer?.lines ?? [])
      context.output.write(`${visibleLines(context.json ? line : prettyLine(line))}\n`);
    if (intervalMs === undefined) return;
    const place = answer ? `${answer.part} ${answer.cursor}` : before;
    if (place === before || isFirst) await pause(intervalMs);
    before = place;
  }
}

/** @throws GatewayError `NOT_FOUND` for a file that somebody named, unless it may still be created */
function noteAbsent({ options, note }: CommandContext, isFollowing: boolean): void {
  const { file } = options;
  if (typeof file !== "string") return note("The log is empty.");
  if (!isFollowing) notFound(`${resolve(file)} does not exist\nNext: svc logs shows the log of the gateway`);
  note(`${resolve(file)} does not exist yet.`);
}

/** @throws GatewayError `INVALID_REQUEST` naming the option */
function settingsOf(options: CommandContext["options"]): FeedOptions {
  const { level, subsystem, file, url } = options;
  if (typeof level === "string" && !isLevel(level))
    invalidRequest(`--level ${level}: must be one of ${LEVELS.join(", ")}`);
  return {
    filter: {
      ...(isLevel(level) ? { level } : {}),
      ...(typeof subsystem === "string" ? { subsystem } : {}),
    },
    limit: wholeNumber("--limit", options["limit"], 1, MAX_LINES),
    file: typeof file === "string" ? resolve(file) : undefined,
    isElsewhere: url !== undefined,
    now: Date.now,
  };
}

function isLevel(value: unknown): value is LogLevel {
  return typeof value === "string" && LEVELS.includes(value);
}

function wholeNumber(flag: string, text: unknown, least: number, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  return invalidRequest(`${flag} ${String(text)}: must be a whole number from ${least} to ${most}`);
}
