/** Formats questions, grants and policy files for a terminal; control characters are escaped. Pure. */
import { bounded, commandText, questionLines } from "@svc/kit/exec";
import type { ApprovalGrantRow, ApprovalRow, ExecPolicySnapshot } from "@svc/sdk/approvals";
import { time, visible } from "@svc/sdk/cli";
import { entryText } from "./cli-allowlist.ts";

/** Maximum characters of a command in a list. */
const MAX_LISTED = 100;

/** Pending questions with all details for a decision, and one line for each other. */
export function approvalLines({ approvals }: { approvals: readonly ApprovalRow[] }): readonly string[] {
  const pending = approvals.filter(({ status }) => status === "pending");
  const others = approvals.filter(({ status }) => status !== "pending");
  return [
    ...(pending.length === 0 ? ["no question waits for an answer"] : pending.flatMap(pendingLines)),
    ...(others.length === 0 ? [] : ["", "answered or expired:"]),
    ...others.map((row) => `  ${time(row.createdAtMs)}  ${outcome(row)}  ${bounded(row.request.command, MAX_LISTED)}`),
  ];
}

function pendingLines(row: ApprovalRow): string[] {
  const allow = bounded(commandText(["svc", "approvals", "allow", row.id]), 400);
  const offered = row.request.session === undefined ? "" : "--session, ";
  return [visible(row.id), ...questionLines(row), `  Next: ${allow} (or with ${offered}--for 1h or --always; or deny)`];
}

function outcome({ decision, reason, resolvedBy, usedAtMs, grant }: ApprovalRow): string {
  const until = grant && `allowed${grant.for === "session" ? " for the session" : ""} until ${time(grant.expiresAtMs)}`;
  const what = until ?? decision ?? `expired (${reason ?? "time"})`;
  const who = resolvedBy === undefined ? "" : ` by ${bounded(resolvedBy, 40)}`;
  return visible(`${what}${who}${usedAtMs === undefined ? "" : ", used"}`);
}

/** @param now epoch ms */
export function grantLines({ grants }: { grants: readonly ApprovalGrantRow[] }, now: number): readonly string[] {
  if (grants.length === 0) return ["no grants: nothing is allowed for longer than once"];
  return grants.flatMap((grant) => {
    const { agentId, sessionKey, nodeId, createdAtMs, expiresAtMs, createdBy, lastUsedAtMs } = grant;
    const where = [
      visible(grant.kind),
      ...(agentId === null ? [] : [`agent ${bounded(agentId, 60)}`]),
      ...(sessionKey === null ? [] : [`session ${bounded(sessionKey, 120)}`]),
      ...(nodeId === null ? [] : [`node ${bounded(nodeId, 70)}`]),
    ];
    const times = [
      `until ${time(expiresAtMs)} (${distance(expiresAtMs - now)})`,
      `since ${time(createdAtMs)}${createdBy === undefined ? "" : ` by ${bounded(createdBy, 40)}`}`,
      lastUsedAtMs === undefined ? "never used since" : `last used ${time(lastUsedAtMs)}`,
    ];
    const lines = [bounded(grant.command, MAX_LISTED), where.join(", "), times.join(", ")];
    return [visible(grant.digest), ...lines.map((line) => `  ${line}`)];
  });
}

/** `in 3 d`, in the largest unit that fits. */
function distance(ms: number): string {
  const [size, unit] = UNITS.find(([least]) => ms >= least) ?? [1_000, "s"];
  return `in ${Math.floor(Math.max(0, ms) / size)} ${unit}`;
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
] as const;

/** The rules of a policy file; agents in the order of the file. */
export function policyLines({ path, hash, file }: ExecPolicySnapshot): readonly string[] {
  const agents = Object.entries(file.agents ?? {});
  return [
    `file      ${bounded(path, 500)}`,
    `hash      ${visible(hash)}`,
    `defaults  ${rulesText(file.defaults ?? {}, "none: security deny, ask on-miss, askFallback deny")}`,
    ...agents.flatMap(([id, rules]) => [
      `agent ${bounded(id, 60)}  ${rulesText(rules, "no rules of its own")}`,
      ...(rules.allowlist ?? []).map((entry) => `  ${entryText(entry)}`),
    ]),
  ];
}

type Words = { readonly security?: string; readonly ask?: string; readonly askFallback?: string };

function rulesText(rules: Words, nothing: string): string {
  const said = (["security", "ask", "askFallback"] as const).flatMap((key) => {
    const word = rules[key];
    return word === undefined ? [] : [`${key} ${bounded(word, 40)}`];
  });
  return said.length === 0 ? nothing : said.join(", ");
}
