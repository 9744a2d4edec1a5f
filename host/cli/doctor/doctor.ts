/** `svc doctor`: reports problems and what `--fix` would do; `--fix` repairs, `--undo` reverts a repair. */
import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { invalidRequest } from "@svc/sdk";
import { type CommandContext, show, visible } from "@svc/sdk/cli";
import { examine, type Examination } from "./examination.ts";
import { askVerbsOf, pluginVerbs } from "./other-verbs.ts";
import { type Done, repair, repairId, undo } from "./repairs.ts";

/** @returns the exit code: 1 when something is broken */
export async function doctor(context: CommandContext): Promise<number> {
  const { fix, undo: id, url } = context.options;
  if (url !== undefined)
    invalidRequest("svc doctor checks the files of this machine and does not accept --url\nNext: svc doctor");
  if (typeof id === "string") return takeBack(id, context);
  const ask = askVerbsOf(realpathSync(process.argv[1] ?? ""), process.env);
  const seen = await examine({ context, ask, pluginVerbs: await pluginVerbs() });
  return fix === true ? repairAll(seen, context) : tell(seen, context);
}

/** @returns 1 when something is broken */
function tell({ findings, isRunning }: Examination, context: CommandContext): number {
  const isBroken = findings.some(({ severity }) => severity === "error");
  const plan = findings.flatMap((finding) => (finding.repair ? [finding.repair] : []));
  show(context, { ok: !isBroken, isRunning, findings, plan }, () => [
    ...findingLines(findings),
    ...(plan.length > 0
      ? ["", `svc doctor --fix would repair ${plan.length} of them; svc doctor --undo reverts it.`]
      : []),
  ]);
  return isBroken ? 1 : 0;
}

async function repairAll(seen: Examination, context: CommandContext): Promise<number> {
  const { findings } = seen;
  const repairs = findings.flatMap((finding) => (finding.repair ? [finding.repair] : []));
  if (repairs.length === 0) {
    tell(seen, context);
    if (!context.json) context.print("Nothing here can be repaired automatically.");
    return findings.some(({ severity }) => severity === "error") ? 1 : 0;
  }
  const now = Date.now();
  const id = repairId(now, randomBytes(3).toString("hex"));
  const done = await repair(context.stateDir, id, repairs, now);
  const left = findings.filter((finding) => !finding.repair);
  const isBroken = left.some(({ severity }) => severity === "error") || done.some(({ failed }) => failed !== undefined);
  show(context, { ok: !isBroken, id, done, findings: left }, () => [
    ...doneLines(done),
    ...(left.length > 0 ? ["", ...findingLines(left)] : []),
    "",
    `To undo this: svc doctor --undo ${id}`,
  ]);
  return isBroken ? 1 : 0;
}

async function takeBack(id: string, context: CommandContext): Promise<number> {
  const done = await undo(context.stateDir, id);
  const isWhole = done.every(({ failed }) => failed === undefined);
  show(context, { ok: isWhole, id, done }, () => doneLines(done));
  return isWhole ? 0 : 1;
}

function doneLines(done: readonly Done[]): string[] {
  return done.map(
    ({ path, what, failed }) => `${failed === undefined ? "done  " : "failed"}  ${visible(path)}: ${failed ?? what}`,
  );
}

function findingLines(findings: Examination["findings"]): string[] {
  const isWell = findings.every(({ severity }) => severity === "info");
  const lines = findings.flatMap(({ severity, about, message, next, check }) => [
    `${severity.padEnd(8)} ${check}: ${visible(about)}: ${message.split("\n").map(visible).join("\n         ")}`,
    `         Next: ${visible(next)}`,
  ]);
  return isWell ? ["No problems found.", ...lines] : lines;
}
