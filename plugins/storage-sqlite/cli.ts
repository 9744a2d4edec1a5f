/** `svc storage`: usage, cleaning, and the check that `svc doctor` runs. The check is imported on use, because only it loads SQLite. */
import { askingWith, type CommandContext, defineCommands, show, showFindings } from "@svc/sdk/cli";
import { storage } from "@svc/sdk/storage";
import { cleanedLines, usageLines } from "./cli-text.ts";

const ask = askingWith({ plugin: "storage-sqlite", step: "svc gateway status" });
/** Choice: milliseconds for reading or rewriting a large database. */
const PATIENCE_MS = 600_000;

export default defineCommands([
  {
    name: "storage usage",
    summary: "Show the size and retention of stored data",
    examples: ["svc storage usage", "svc storage usage --json"],
    async run(context) {
      const answer = await ask(context, ["operator.read"], (client) =>
        client.call(storage.usage, {}, { timeoutMs: PATIENCE_MS }),
      );
      show(context, answer, usageLines);
    },
  },
  {
    name: "storage clean",
    summary: "Delete expired data now; the gateway does this every hour",
    options: [
      { flags: "--dry-run", description: "only show what would be deleted" },
      {
        flags: "--vacuum",
        description: "also rewrite the database without its free pages; the gateway waits meanwhile, about 10 s per GB",
      },
    ],
    examples: ["svc storage clean --dry-run", "svc storage clean", "svc storage clean --vacuum"],
    async run(context) {
      const params = { dryRun: isGiven(context, "dryRun"), vacuum: isGiven(context, "vacuum") };
      const answer = await ask(context, ["operator.admin"], async (client) => ({
        ...(await client.call(storage.clean, params, { timeoutMs: PATIENCE_MS })),
        ...(params.dryRun &&
          params.vacuum && { usage: await client.call(storage.usage, {}, { timeoutMs: PATIENCE_MS }) }),
      }));
      show(context, answer, (value) => cleanedLines(value, params.dryRun));
    },
  },
  {
    name: "storage doctor",
    summary: "Check that the databases in the state directory are intact",
    options: [
      { flags: "--running", description: "call the gateway that uses the state directory instead of reading files" },
    ],
    examples: ["svc storage doctor", "svc storage doctor --running --json"],
    async run(context) {
      const { askGateway, stateFindings } = await import("./doctor.ts");
      const isRunning = context.options["running"] === true;
      const findings = isRunning ? await askGateway(context) : await stateFindings(context.stateDir);
      return showFindings(context, findings);
    },
  },
]);

function isGiven({ options }: CommandContext, name: string): boolean {
  return options[name] === true;
}
