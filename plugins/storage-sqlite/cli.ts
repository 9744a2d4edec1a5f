/** The verb with which `svc doctor` checks the databases. It is imported on use: no other command loads SQLite. */
import { defineCommands, show, visible } from "@svc/sdk/cli";

export default defineCommands([
  {
    name: "storage doctor",
    summary: "Are the databases in the state directory intact?",
    options: [
      { flags: "--running", description: "a gateway uses the state directory: ask it instead of reading files" },
    ],
    examples: ["svc storage doctor", "svc storage doctor --running --json"],
    async run(context) {
      const { askGateway, stateFindings } = await import("./doctor.ts");
      const isRunning = context.options["running"] === true;
      const findings = isRunning ? await askGateway(context) : await stateFindings(context.stateDir);
      show(context, { findings }, () => [
        ...(findings.length === 0 ? ["Nothing is wrong."] : []),
        ...findings.map(({ about, message, next }) => `${visible(about)}: ${visible(message)}\nNext: ${visible(next)}`),
      ]);
      return findings.some(({ severity }) => severity === "error") ? 1 : 0;
    },
  },
]);
