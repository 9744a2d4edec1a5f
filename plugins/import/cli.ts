/** `svc import`: brings the state of another gateway here, and shows what an import did. */
import type { ImportReport } from "@svc/kit/import";
import { defineCommands, show } from "@svc/sdk/cli";

const EXIT_CODES = {
  IMPORT_UNPROTECTED: 3,
  IMPORT_SOURCE_RUNS: 4,
  IMPORT_STATE_IN_USE: 4,
  IMPORT_UNREADABLE: 5,
  IMPORT_NEWER: 6,
} as const;

export default defineCommands([
  {
    name: "import openclaw",
    summary: "Bring the state of an OpenClaw gateway here: conversations, jobs, devices, settings",
    isLocal: true,
    exitCodes: EXIT_CODES,
    options: [
      { flags: "--from <dir>", description: "its state directory (default: OPENCLAW_STATE_DIR, ~/.openclaw)" },
      { flags: "--dry-run", description: "say what an import does; write nothing" },
      { flags: "--merge", description: "add to conversations and devices that are here; what is here wins" },
      { flags: "--copy-workspace", description: "copy the workspaces (default: agents use them where they are)" },
      { flags: "--without <key>", description: "leave out a setting that promises protection", repeatable: true },
      { flags: "--without-config", description: "take the data, not the configuration" },
      { flags: "--anyway", description: "read the state of a version that is newer than the reader knows" },
    ],
    help: [
      "Nothing below the other state directory is changed. Stop its gateway first; a dry run needs no stop.",
      "The new state is built beside the old one and replaces it when it is complete. An import that is killed changes nothing.",
      "Exit codes: 3 a setting needs --without, 4 a gateway runs, or this state is in use, 5 the source cannot be read, 6 it is newer.",
    ],
    examples: [
      "svc import openclaw --dry-run",
      "svc import openclaw",
      "svc import openclaw --from /srv/openclaw --merge",
    ],
    async run(context) {
      const { options } = context;
      const isOn = (name: string) => options[name] === true;
      const { openClawSource } = await import("./openclaw/source.ts");
      const { runImport, reportLines } = await import("@svc/kit/import");
      const source = await openClawSource({
        from: typeof options["from"] === "string" ? options["from"] : undefined,
        without: new Set(Array.isArray(options["without"]) ? options["without"].map(String) : []),
        withoutConfig: isOn("withoutConfig"),
        copyWorkspace: isOn("copyWorkspace"),
        anyway: isOn("anyway"),
      });
      try {
        const report = await runImport(source, context, { dryRun: isOn("dryRun"), merge: isOn("merge") });
        show(context, report, (value) => [...reportLines(value), ...afterwards(value)]);
      } finally {
        await source.close();
      }
    },
  },
  {
    name: "import report",
    summary: "Show what an import did",
    args: "[id]",
    isLocal: true,
    examples: ["svc import report", "svc import report --json"],
    async run(context) {
      const { readReport, reportLines } = await import("@svc/kit/import");
      show(context, await readReport(context.stateDir, context.args[0]), reportLines);
    },
  },
]);

function afterwards({ dryRun, source, stateDir, formerState, id, tookMs }: ImportReport): string[] {
  if (dryRun)
    return ["", `Nothing was written. Next: ${source.running ? `${source.stop} && ` : ""}svc import openclaw`];
  return [
    "",
    `Took ${(tookMs / 1_000).toFixed(1)} s. Report: svc import report ${id} (it has no secrets)`,
    ...(formerState === undefined ? [] : [`The former state is in ${formerState}.`]),
    `Nothing below ${source.directory} was changed. Back: svc gateway stop && ${source.start}`,
    `Next: svc gateway run, with the state in ${stateDir}`,
  ];
}
