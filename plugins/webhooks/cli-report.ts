/** Output of `svc hooks list|info|check|runs` for people. Pure. */
import type { ResultOf } from "@svc/sdk";
import { cut, table, time, visible } from "@svc/sdk/cli";
import type { webhooks } from "@svc/sdk/webhooks";
import { counted, fields, valueText } from "./cli-text.ts";

type Listed = ResultOf<typeof webhooks.list>;
type Mapping = Listed["mappings"][number];
type Checked = ResultOf<typeof webhooks.check>;
type Run = ResultOf<typeof webhooks.runs>["runs"][number];

/** Characters of a problem or reason in a table. */
const NOTE_CHARS = 100;

export const WEBHOOKS_ARE_OFF = "webhooks are off: set hooks.enabled and hooks.token";

/** One line per mapping, in the order they are tried. */
export function listLines({ enabled, path, transformsDir, mappings }: Listed): string[] {
  const head = ["#", "ID", "PATH", "ACTION", "VERIFY", "TRANSFORM", "STATE"];
  const rows = mappings.map((mapping, index) => [String(index + 1), ...cells(mapping)]);
  return [
    ...(enabled ? [] : [WEBHOOKS_ARE_OFF, ""]),
    ...(rows.length === 0
      ? [`no mappings below ${visible(path)}; add one to hooks.mappings, or add a plugin with an action`]
      : table([head, ...rows])),
    "",
    `transforms: ${visible(transformsDir)}`,
  ];
}

function cells(mapping: Mapping): string[] {
  const { id, path, action, actionOwner, verify, transform } = mapping;
  return [
    visible(id),
    visible(path),
    visible(action) + (actionOwner === undefined ? " (no plugin)" : ""),
    visible(verify),
    transform ? `${visible(transform.module)} ${transform.state}` : "-",
    state(mapping),
  ];
}

/** Shows the first error, else the first warning. */
function state({ enabled, action, actionOwner, problems }: Mapping): string {
  if (!enabled) return "off";
  const worst = problems.find(({ severity }) => severity === "error") ?? problems[0];
  if (worst) return cut(visible(`${worst.severity}: ${worst.message}`), NOTE_CHARS);
  return actionOwner === undefined ? visible(`error: no plugin provides the action ${action}`) : "on";
}

/** All details of a mapping. */
export function infoLines(mapping: Mapping): string[] {
  const { id, origin, enabled, path, match, action, actionOwner, verify, transform, problems } = mapping;
  return [
    ...fields([
      ["id", id],
      ["origin", origin],
      ["state", enabled ? "on" : "off"],
      ["path", path],
      ["match", match],
      ["action", actionOwner === undefined ? `${action} (no plugin provides it: requests get 501)` : action],
      ["plugin", actionOwner],
      ["verify", verify],
      ...Object.entries(transform ?? {}).map(([key, value]) => [`transform ${key}`, value] as const),
    ]),
    ...problems.map(problemLine),
  ];
}

export function checkLines({ enabled, problems }: Checked & { readonly enabled: boolean }): string[] {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const summary =
    problems.length === 0
      ? "no problems"
      : `${counted(errors, "error")}, ${counted(problems.length - errors, "warning")}`;
  return [...(enabled ? [] : [WEBHOOKS_ARE_OFF]), ...problems.map(problemLine), summary];
}

function problemLine({ path, message, severity }: Mapping["problems"][number]): string {
  return visible(`${severity}: ${path}: ${message}`);
}

/** One line per run, newest first. @param filtered the list was restricted by options */
export function runLines(runs: readonly Run[], filtered: boolean): string[] {
  if (runs.length === 0) {
    return [
      filtered
        ? "no matching webhooks; list all: svc hooks runs"
        : "no webhooks accepted yet; to try one: svc hooks try --help",
    ];
  }
  const head = ["RUN", "STATUS", "MAPPING", "ACTION", "ACCEPTED", "ATTEMPTS", "NOTE"];
  return table([
    head,
    ...runs.map(({ runId, status, mapping, action, acceptedAt, attempts, reason, summary }) => [
      visible(runId),
      status,
      visible(mapping),
      visible(action),
      time(acceptedAt),
      String(attempts),
      cut(visible(reason ?? summary ?? ""), NOTE_CHARS),
    ]),
  ]);
}

const TIMES: ReadonlySet<string> = new Set(["acceptedAt", "startedAt", "endedAt", "nextAttemptAt"]);

/** One line per field, and the next step for a failed run. */
export function oneRunLines(run: Run): string[] {
  const { details, ...rest } = run;
  const next =
    run.status !== "failed"
      ? []
      : run.replayedAs === undefined
        ? [`Next: svc hooks replay ${valueText(run.runId)}`]
        : [`Next: svc hooks runs ${valueText(run.replayedAs)}`];
  return [
    ...fields([
      ...Object.entries(rest).map(
        ([name, value]) => [name, TIMES.has(name) && typeof value === "number" ? time(value) : value] as const,
      ),
      ["details", details],
    ]),
    ...next,
  ];
}
