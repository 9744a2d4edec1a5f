/** Questions, grants and policy files as text for a terminal; what clients wrote cannot steer it. Pure. */
import { bounded, commandText, questionLines } from "@svc/kit/exec";
import type { ApprovalGrantRow, ApprovalRow, ExecPolicySnapshot } from "@svc/sdk/approvals";
import { time, visible } from "@svc/sdk/cli";
import { entryText } from "./cli-allowlist.ts";

/** Characters of a command that are shown in a list. */
const MAX_LISTED = 100;

/** Those that wait with all that matters for a decision, the others a line each. */
export function approvalLines({ approvals }: { approvals: readonly ApprovalRow[] }): readonly string[] {
  const pending = approvals.filter(({ status }) => status === "pending");
  const others = approvals.filter(({ status }) => status !== "pending");
  return [
    ...(pending.length === 0 ? ["nothing waits for an answer"] : pending.flatMap(pendingLines)),
    ...(others.length === 0 ? [] : ["", "answered or over:"]),
    ...others.map((row) => `  ${time(row.createdAtMs)}  ${outcome(row)}  ${bounded(row.request.command, MAX_LISTED)}`),
  ];
}

function pendingLines(row: ApprovalRow): string[] {
  const allow = bounded(commandText(["svc", "approvals", "allow", row.id]), 400);
  return [visible(row.id), ...questionLines(row), `  Next: ${allow} (or allow --always, or deny)`];
}

function outcome({ decision, reason, resolvedBy, usedAtMs }: ApprovalRow): string {
  const what = decision ?? `expired (${reason ?? "time"})`;
  const who = resolvedBy === undefined ? "" : ` by ${bounded(resolvedBy, 40)}`;
  return visible(`${what}${who}${usedAtMs === undefined ? "" : ", used"}`);
}

export function grantLines({ grants }: { grants: readonly ApprovalGrantRow[] }): readonly string[] {
  if (grants.length === 0) return ["nothing is allowed for good"];
  return grants.flatMap(({ digest, command, kind, agentId, nodeId, createdAtMs, createdBy, lastUsedAtMs }) => {
    const details = [
      visible(kind),
      ...(agentId === null ? [] : [`agent ${bounded(agentId, 60)}`]),
      ...(nodeId === null ? [] : [`node ${bounded(nodeId, 70)}`]),
      `since ${time(createdAtMs)}${createdBy === undefined ? "" : ` by ${bounded(createdBy, 40)}`}`,
      lastUsedAtMs === undefined ? "never used since" : `last used ${time(lastUsedAtMs)}`,
    ];
    return [visible(digest), `  ${bounded(command, MAX_LISTED)}`, `  ${details.join(", ")}`];
  });
}

/** A policy file as its rules; agents in the order of the file. */
export function policyLines({ path, hash, file }: ExecPolicySnapshot): readonly string[] {
  const agents = Object.entries(file.agents ?? {});
  return [
    `file      ${bounded(path, 500)}`,
    `hash      ${visible(hash)}`,
    `defaults  ${rulesText(file.defaults ?? {}, "nothing said: security deny, ask on-miss, askFallback deny")}`,
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
