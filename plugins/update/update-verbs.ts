/**
 * `svc update` and `svc update check`: the running gateway does the work; without a running gateway, the command does.
 */
import { realpathSync } from "node:fs";
import { detailsCode, GatewayError } from "@svc/sdk/errors";
import { askingWith, type Command, type CommandContext, show, showFindings } from "@svc/sdk/cli";
import { update } from "@svc/sdk/update";
import { hostDirectoryOf, versionIn } from "./install/facts.ts";
import { interruptedUpdates } from "./interrupted.ts";
import { askNewest } from "./newest.ts";
import { availableLines, updateLines } from "./report.ts";
import { createUpdater, type Update } from "./updater.ts";

/** Milliseconds a step of the command itself may take. Spec: protocol/methods-system.md §1. */
const STEP_TIMEOUT = 1_200_000;
/** Choice: enough for several steps. */
const CALL_TIMEOUT = 3_600_000;

const asking = askingWith({ plugin: "update", step: "svc doctor" });

export const updateVerbs: readonly Command[] = [
  {
    name: "update",
    summary: "Update the gateway and restart it",
    options: [
      { flags: "--dry-run", description: "print what would be done, and change nothing" },
      { flags: "--note <text>", description: "text that precedes the outcome in the main session, after the restart" },
    ],
    examples: ["svc update --dry-run", "svc update"],
    async run(context) {
      const dryRun = context.options["dryRun"] === true;
      const note = context.options["note"];
      const params = { ...(dryRun ? { dryRun } : {}), ...(typeof note === "string" ? { note } : {}) };
      try {
        const done = await asking(context, ["operator.admin"], (client) =>
          client.call(update.run, params, { timeoutMs: CALL_TIMEOUT }),
        );
        show(context, done, ({ sentinel, restart, result }) => [
          ...messageLines(sentinel.payload, result),
          ...restartLines(restart),
        ]);
        return done.ok ? 0 : 1;
      } catch (error) {
        if (!isUnreachable(error, context)) throw error;
        return updateHere(context, dryRun);
      }
    },
  },
  {
    name: "update check",
    summary: "Check for a newer version",
    examples: ["svc update check", "svc update check --json"],
    async run(context) {
      try {
        const answer = await asking(context, ["operator.read"], (client) =>
          client.call(update.check, {}, { timeoutMs: CALL_TIMEOUT }),
        );
        show(context, answer, ({ updateAvailable, reason }) => availableLines(updateAvailable, reason));
        return answer.reason === undefined ? 0 : 1;
      } catch (error) {
        if (!isUnreachable(error, context)) throw error;
        const { mode, available, reason } = await askNewest({ ...(await here()), channel: "stable" });
        const checkedAt = reason === undefined ? Date.now() : null;
        const answer = { mode, updateAvailable: available, checkedAt, ...(reason === undefined ? {} : { reason }) };
        show(context, answer, () => availableLines(available, reason));
        return reason === undefined ? 0 : 1;
      }
    },
  },
  {
    name: "update doctor",
    summary: "Check for an interrupted update",
    options: [{ flags: "--running", description: "accepted from svc doctor; has no effect" }],
    examples: ["svc update doctor"],
    async run(context) {
      showFindings(context, await interruptedUpdates(hostDirectoryOf(realpathSync(process.argv[1] ?? ""))));
    },
  },
];

/** Choice: the command itself updates only the gateway of this machine, and only while that gateway is not running. */
function isUnreachable(error: unknown, { options }: CommandContext): boolean {
  return options["url"] === undefined && detailsCode(error) === "UNREACHABLE";
}

async function here() {
  const hostDirectory = hostDirectoryOf(realpathSync(process.argv[1] ?? ""));
  const version = hostDirectory === undefined ? undefined : await versionIn(hostDirectory);
  if (version === undefined)
    throw new GatewayError("UNAVAILABLE", "the package this command belongs to was not found\nNext: reinstall svc");
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  const clock = { elapsed: () => performance.now() };
  return { hostDirectory, version, clock, env: process.env, signal: interrupted.signal };
}

async function updateHere(context: CommandContext, dryRun: boolean): Promise<number> {
  context.note("No gateway is running here, so no restart is needed.");
  const updater = createUpdater({ ...(await here()), plugins: () => [] });
  const done = await updater.run({ channel: "stable", timeoutMs: STEP_TIMEOUT, dryRun });
  const { status } = done.report;
  const answer = {
    ok: status !== "error",
    result: done.report,
    restart: null,
    sentinel: { path: null, payload: null },
  };
  show(context, answer, () => [...updateLines(done), ...(status === "ok" ? ["Next: svc gateway run"] : [])]);
  return status === "error" ? 1 : 0;
}

/** Prints the gateway's message, which contains the steps by hand. */
function messageLines(payload: unknown, report: Update["report"]): string[] {
  const { message } = Object(payload) as { message?: unknown };
  return typeof message === "string" ? message.split("\n") : updateLines({ report });
}

function restartLines(
  restart: { readonly scheduled: boolean; readonly delayMs: number; readonly reason: string } | null,
): string[] {
  if (restart === null) return [];
  return [restart.scheduled ? `The gateway restarts in ${Math.ceil(restart.delayMs / 1_000)} s.` : restart.reason];
}
