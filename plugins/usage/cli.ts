/** `svc usage`: tokens and cost. */
import { invalidRequest } from "@svc/sdk";
import { type CommandContext, defineCommands, withGateway } from "@svc/sdk/cli";
import { sessionsUsage } from "@svc/sdk/usage";
import { type Grouping, GROUPINGS, totalRow, usageLines, usageRows } from "./cli-text.ts";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 3_650;
/** Most sessions of one report. Choice. */
const MAX_SESSIONS = 10_000;

export default defineCommands([
  {
    name: "usage",
    summary: "Show tokens and cost by day, model, provider, agent, channel, tool or session",
    options: [
      { flags: "--days <n>", description: "days up to today", default: String(DEFAULT_DAYS) },
      { flags: "--by <what>", description: GROUPINGS.join(", "), default: "day" },
    ],
    examples: ["svc usage", "svc usage --days 7 --by model", "svc usage --by tool --json"],
    async run(context) {
      const days = daysOf(context.options["days"]);
      const by = groupingOf(context.options["by"]);
      await withGateway(context, ["operator.read"], async (client) => {
        const report = await client.call(sessionsUsage.report, { days, mode: "gateway", limit: MAX_SESSIONS });
        const rows = usageRows(report, by);
        const total = totalRow(report);
        if (report.sessions.length === MAX_SESSIONS)
          context.note(`Only the newest ${MAX_SESSIONS} sessions are counted; use fewer --days.`);
        print(context, { days, by, rows, total }, usageLines(rows, by, total));
      });
    },
  },
]);

function print(context: CommandContext, value: object, lines: readonly string[]): void {
  if (context.json) context.print(value);
  else for (const line of lines) context.print(line);
}

function daysOf(text: unknown): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  return invalidRequest(`--days ${String(text)}: must be a whole number from 1 to ${MAX_DAYS}`);
}

function groupingOf(text: unknown): Grouping {
  return (
    GROUPINGS.find((one) => one === text) ??
    invalidRequest(`--by ${String(text)}: must be one of ${GROUPINGS.join(", ")}`)
  );
}
