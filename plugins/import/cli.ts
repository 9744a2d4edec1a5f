/** `svc import` and `svc export`: bring the state of another gateway here, show what an import did, and write the state for another gateway. */
import { resolve } from "node:path";
import type { ImportReport } from "@svc/kit/import";
import { invalidRequest } from "@svc/sdk";
import { askYes, canAsk, type CommandContext, defineCommands, show } from "@svc/sdk/cli";
import type { ExportReport } from "./openclaw/export.ts";

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
      { flags: "--people", description: "add the people whom a code let in to allowFrom of their channels" },
      { flags: "--try-code", description: "load the transforms of webhooks, and report their problems" },
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
        people: isOn("people"),
        anyway: isOn("anyway"),
      });
      try {
        const how = { dryRun: isOn("dryRun"), merge: isOn("merge"), tryCode: isOn("tryCode") };
        const report = await runImport(source, context, how);
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
  {
    name: "export openclaw",
    summary: "Write the state as a state directory of OpenClaw 2026.3",
    isLocal: true,
    exitCodes: EXIT_CODES,
    options: [
      { flags: "--to <dir>", description: "the new directory; it must not exist", required: true },
      { flags: "--yes", description: "do not ask: the directory has the keys and the tokens of devices as text" },
    ],
    help: [
      "Writes conversations, jobs, devices, command policy, wake words, transforms, skills and settings; copies workspaces in the state directory.",
      "The state stays as it is. Stop the gateway first: what it writes during the export would be missing.",
    ],
    examples: ["svc gateway stop && svc export openclaw --to ~/openclaw-back"],
    async run(context) {
      const to = resolve(String(context.options["to"]));
      const { itemLines, runExport } = await import("@svc/kit/import");
      const { writeOpenClaw } = await import("./openclaw/export.ts");
      const { refuseSource } = await import("./openclaw/find.ts");
      refuseSource(to);
      if (!(await isAgreed(to, context))) {
        context.note("Nothing was written.");
        return 1;
      }
      const report = await runExport(to, context, (state, directory) => writeOpenClaw(state, { directory, place: to }));
      show(context, { directory: to, ...report }, ({ leftOut }) => [
        ...writtenLines(report),
        ...itemLines(leftOut).map((line) => `left out   ${line}`),
        `Next: OPENCLAW_STATE_DIR=${to} openclaw gateway run`,
      ]);
      return 0;
    },
  },
]);

async function isAgreed(to: string, context: CommandContext): Promise<boolean> {
  if (context.options["yes"] === true) return true;
  const what = `${to} will have the keys of models and the tokens of devices as text.`;
  if (canAsk(context)) return askYes(`${what} Write it?`, context);
  return invalidRequest(`${what}\nNext: repeat the command with --yes`);
}

function writtenLines({ format, written }: ExportReport): string[] {
  const counts = Object.values(written).filter(({ count }) => count > 0);
  return [`${format}   ${counts.map(({ title, count }) => `${title} ${count}`).join("   ")}`];
}

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
