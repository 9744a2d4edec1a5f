/** `svc security audit`: lists what is unsafe, why, and the command that fixes it; `--fix` corrects file modes. */
import { randomBytes } from "node:crypto";
import { invalidRequest } from "@svc/sdk";
import { type CommandContext, show, visible } from "@svc/sdk/cli";
import { type Done, repair, repairId } from "../doctor/repairs.ts";
import { pluginsHere } from "../planned-plugins.ts";
import { type Audit, examine, type SecurityFinding, SEVERITIES } from "./examine.ts";
import { hostView } from "./view.ts";

/** Result of `--fix`. */
interface Fixed {
  /** For `svc doctor --undo`. */
  readonly id: string;
  readonly done: readonly Done[];
}

/** @returns the exit code: 1 with a critical finding, else 0 */
export async function audit(context: CommandContext): Promise<number> {
  const { fix, url } = context.options;
  if (url !== undefined)
    invalidRequest(
      "svc security audit reads the files of this machine and does not accept --url\nNext: svc security audit",
    );
  const view = hostView(await pluginsHere(), process.env, Date.now());
  const seen = await examine(view, context.connect);
  const fixed = fix === true ? await fixModes(seen, context.stateDir, view.now) : undefined;
  const isMended = ({ repair: asked }: SecurityFinding) =>
    fixed?.done.some(({ path, failed }) => path === asked?.path && failed === undefined) === true;
  const findings = seen.findings.filter((finding) => !isMended(finding));
  const counts = Object.fromEntries(
    SEVERITIES.map((severity) => [severity, findings.filter((finding) => finding.severity === severity).length]),
  );
  const isSafe = counts["critical"] === 0;
  const { skipped } = seen;
  show(context, { ok: isSafe, counts, findings, skipped, ...(fixed ? { fixed } : {}) }, () => [
    ...(fixed ? fixedLines(fixed) : []),
    ...findingLines(findings),
    ...skippedLines(skipped),
    ...(!fixed && findings.some((finding) => finding.repair)
      ? ["svc security audit --fix corrects the file modes."]
      : []),
  ]);
  return isSafe ? 0 : 1;
}

/** Choice: only modes, since any other fix changes behaviour that someone may rely on. */
async function fixModes({ findings }: Audit, stateDir: string, now: number): Promise<Fixed> {
  const repairs = findings.flatMap((finding) => (finding.repair?.kind === "mode" ? [finding.repair] : []));
  const id = repairId(now, randomBytes(3).toString("hex"));
  return { id, done: repairs.length === 0 ? [] : await repair(stateDir, id, repairs, now) };
}

function fixedLines({ id, done }: Fixed): string[] {
  if (done.length === 0) return ["All file modes were correct already.", ""];
  const lines = done.map(
    ({ path, what, failed }) =>
      `${failed === undefined ? "done  " : "failed"}  ${visible(path)}: ${visible(failed ?? what)}`,
  );
  return [...lines, `To undo this: svc doctor --undo ${id}`, ""];
}

/** One line per reason, listing the checks skipped for it. */
function skippedLines(skipped: Audit["skipped"]): string[] {
  const reasons = new Set(skipped.map(({ reason }) => reason));
  return [...reasons].map((reason) => {
    const ids = skipped.filter((one) => one.reason === reason).map(({ id }) => id);
    return `not checked: ${visible(ids.join(", "))}: ${visible(reason)}`;
  });
}

function findingLines(findings: readonly SecurityFinding[]): string[] {
  if (findings.length === 0) return ["Nothing unsafe was found."];
  return SEVERITIES.flatMap((wanted) => {
    const group = findings.filter(({ severity }) => severity === wanted);
    if (group.length === 0) return [];
    const lines = group.flatMap(({ id, about, message, why, fix }) => [
      `  ${visible(id)}  ${visible(about)}: ${visible(message)}`,
      `    why: ${visible(why)}`,
      `    fix: ${visible(fix)}`,
    ]);
    return [`${wanted} (${group.length})`, ...lines, ""];
  });
}
