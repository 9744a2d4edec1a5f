/** Whether a command may run now: the policy, then people where it wants them asked. */
import { type ExecRules, limitsOf, rulesFor, type SessionLimits } from "@svc/kit/exec";
import { GatewayError, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import type { ExecPolicyFile } from "@svc/sdk/approvals";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import type { Sessions } from "@svc/sdk/sessions";
import type { ExecConfig } from "../config.ts";
import type { Command } from "./command.ts";
import { judged, nextStep, type Verdict } from "./judgement.ts";

export interface PermissionSources {
  /** The policy file as it is now. */
  policy(): Promise<ExecPolicyFile>;
  limits(): Pick<ExecConfig, "security" | "ask">;
  approver(): Approver | undefined;
  sessions(): Pick<Sessions, "get" | "canonicalKey"> | undefined;
  /** Whether commands of this agent run in a sandbox. Absent: none do. */
  sandboxed?(agentId: string): boolean | Promise<boolean>;
}

/** A command with what goes with it. */
export interface Wanted {
  readonly command: Command;
  readonly env: Readonly<Record<string, string>>;
  readonly agentId: string;
  readonly sessionKey: string;
  /** A person has to allow it whatever the policy says: what they are told. */
  readonly because: string | undefined;
}

/** Choice: UTF-16 units of a command people are asked about: they have to see all of it. */
const MAX_ASKED_CHARS = 3_000;

/** @throws GatewayError `FORBIDDEN` with the reason and what to do; `INVALID_REQUEST`: too long to be asked about */
export async function permit(wanted: Wanted, sources: PermissionSources, signal: AbortSignal): Promise<void> {
  const verdict = await judgeNow(wanted, sources);
  const { because } = wanted;
  if (verdict.verdict === "allow" && because === undefined) return;
  // A refusal names the setting of the session, where that alone wants people asked.
  const setting = verdict.verdict === "ask" && because === undefined ? verdict.reason : undefined;
  const answer = await ask(wanted, sources, signal, setting);
  signal.throwIfAborted();
  const isYes = answer.decision === "allow-once" || answer.decision === "allow-always";
  const isAllowedUnanswered = because === undefined && verdict.verdict === "ask" && verdict.fallback === "allow";
  if (!isYes && !(answer.decision === null && isAllowedUnanswered)) {
    const why = answer.reason ?? "nobody allowed it";
    throw denied(withSetting(why, setting), "ask whoever you work for, and try again when they are there");
  }
  // What the policy denies by now is denied, whoever allowed it meanwhile.
  await judgeNow(wanted, sources);
}

/** What settings of the session, and of those that started it, say now. @throws GatewayError `UNAVAILABLE`: they cannot be read */
export async function sessionLimitsNow(
  sessionKey: string,
  { sessions }: Pick<PermissionSources, "sessions">,
): Promise<readonly SessionLimits[]> {
  const known =
    sessions() ?? unavailable("no plugin keeps sessions now, so nobody knows what this one may run; try again");
  return limitsOf(known, sessionKey);
}

async function judgeNow(
  { command, env, agentId, sessionKey }: Wanted,
  sources: PermissionSources,
): Promise<Exclude<Verdict, { verdict: "deny" }>> {
  const rules: ExecRules = rulesFor(await sources.policy(), agentId);
  const wish = { plan: command.plan, file: command.file, envNames: Object.keys(env), place: command.place };
  const isSandboxed = (await sources.sandboxed?.(agentId)) === true;
  const limits = await sessionLimitsNow(sessionKey, sources);
  const verdict = judged(rules, sources.limits(), wish, { limits, isSandboxed });
  if (verdict.verdict === "deny")
    throw denied(verdict.reason, verdict.by === "session" ? verdict.next : nextStep(verdict.by, rules, agentId));
  return verdict;
}

async function ask(
  wanted: Wanted,
  { approver }: PermissionSources,
  signal: AbortSignal,
  setting: string | undefined,
): Promise<ApprovalAnswer> {
  const { agentId, sessionKey, command, env, because } = wanted;
  if (command.text.length > MAX_ASKED_CHARS) {
    invalidRequest(
      `a person has to allow this command, and it is longer than ${MAX_ASKED_CHARS} characters; write it to a file and run that`,
    );
  }
  const asker = approver();
  if (!asker) {
    throw denied(
      withSetting("a person has to allow it, and no plugin that asks people is running", setting),
      "an operator can see why: svc plugins why approvals",
    );
  }
  const { plan, file } = command;
  try {
    return await asker.ask({
      title: questionTitle(wanted),
      // Choice: `allow-always` holds for this command, directory, environment, agent and session, and for nothing else.
      subject: { argv: plan.argv, file, cwd: plan.cwd, env, agentId, sessionKey },
      kind: "tool:exec",
      because,
      askedBy: "workspace",
      agentId,
      sessionKey,
      signal,
    });
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw denied(`a person has to allow it, and could not be asked: ${error.message}`, "try again later");
  }
}

/** What people read: the command, and before it where it runs and which variables it gets, when that is not the usual. Pure. */
export function questionTitle({ command: { text, directory }, env }: Pick<Wanted, "command" | "env">): string {
  const names = Object.keys(env).sort();
  const isUsual = directory === "" && names.length === 0;
  // A command that looks as if it had such a beginning gets a real one.
  if (isUsual && !text.startsWith("[")) return text;
  const where = directory === "" ? "the workspace" : JSON.stringify(directory);
  return `[in ${where}${names.length === 0 ? "" : `, with ${names.join(", ")}`}] ${text}`;
}

function withSetting(why: string, setting: string | undefined): string {
  return setting === undefined ? why : `${why} (${setting})`;
}

function denied(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `the command did not run: ${why}. Next: ${next}`);
}
