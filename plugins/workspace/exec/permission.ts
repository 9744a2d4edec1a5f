/** Whether a command may run now: the policy, then people where it wants them asked. */
import { type BindableRun, bindFiles, type Binding, entriesThatHold, rulesFor } from "@svc/kit/exec";
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import type { ExecConfig } from "../config.ts";
import type { Command } from "./command.ts";
import { hasAllowlist, judged, nextStep, type Verdict } from "./judgement.ts";

export interface PermissionSources {
  /** The policy file as it is now. */
  policy(): Promise<ExecPolicyFile>;
  limits(): Pick<ExecConfig, "security" | "ask">;
  approver(): Approver | undefined;
}

/** A command with what goes with it. */
export interface Wanted {
  readonly command: Command;
  readonly env: Readonly<Record<string, string>>;
  /** `PATH` it gets. */
  readonly path: string;
  readonly agentId: string;
  readonly sessionKey: string;
}

/** Choice: UTF-16 units of a command people are asked about: they have to see all of it. */
const MAX_ASKED_CHARS = 3_000;

/**
 * @returns the contents that were judged, which alone may run; `undefined`: whatever lies there may
 * @throws GatewayError `FORBIDDEN` with the reason and what to do; `INVALID_REQUEST`: too long to be asked about
 */
export async function permit(
  wanted: Wanted,
  sources: PermissionSources,
  signal: AbortSignal,
): Promise<Binding | undefined> {
  const { verdict, binding } = await judgeNow(wanted, sources);
  if (verdict.verdict === "allow") return binding;
  if (wanted.command.text.length > MAX_ASKED_CHARS) {
    invalidRequest(
      `a person has to allow this command, and it is longer than ${MAX_ASKED_CHARS} characters; write it to a file and run that`,
    );
  }
  const all = await bindFiles(bindableRun(wanted));
  if (all.fault !== undefined) {
    throw denied(
      `a person has to allow it, and its contents cannot be bound: ${all.fault}`,
      "name fewer or smaller files, or ask an operator to run it",
    );
  }
  const answer = await ask(wanted, all.files, sources, signal);
  signal.throwIfAborted();
  const isYes = answer.decision === "allow-once" || answer.decision === "allow-always";
  if (!isYes && !(answer.decision === null && verdict.fallback === "allow")) {
    throw denied(answer.reason ?? "nobody allowed it", "ask whoever you work for, and try again when they are there");
  }
  // What the policy denies by now is denied, whoever allowed it meanwhile.
  await judgeNow(wanted, sources);
  return all;
}

/** What its contents are found by. Pure. */
export function bindableRun({
  command: { file, plan },
  env,
  path,
}: Pick<Wanted, "command" | "env" | "path">): BindableRun {
  return { file, argv: plan.argv, cwd: plan.cwd, path, texts: Object.values(env) };
}

/** @returns with the contents an entry of an allowlist has bound */
async function judgeNow(
  wanted: Wanted,
  sources: PermissionSources,
): Promise<{ verdict: Exclude<Verdict, { verdict: "deny" }>; binding?: Binding }> {
  const { command, env, agentId } = wanted;
  const policy = await sources.policy();
  const rules = rulesFor(policy, agentId);
  const wish = { plan: command.plan, file: command.file, envNames: Object.keys(env) };
  const verdict = judged(rules, sources.limits(), wish);
  if (verdict.verdict === "deny") throw denied(verdict.reason, nextStep(verdict.by, rules, agentId));
  if (!hasAllowlist(rules, sources.limits())) return { verdict };
  // An entry means a program by its path: where agents can write what would run, the path says nothing about it.
  const binding = await bindFiles(bindableRun(wanted), "runs");
  const held = judged(rulesFor(entriesThatHold(policy, binding), agentId), sources.limits(), wish);
  if (held.verdict === "deny") throw denied(...unbound(wanted, binding));
  return binding.files.length === 0 ? { verdict: held } : { verdict: held, binding };
}

/** Why an entry does not suffice, and what does. Pure. */
function unbound({ command, agentId }: Wanted, { files, fault }: Binding): readonly [why: string, next: string] {
  const [first] = files;
  if (fault !== undefined || files.length !== 1 || first === undefined) {
    const what = fault ?? "what it runs cannot be told by an entry of the allowlist";
    return [
      what,
      `an operator can have people decide: svc approvals security allowlist --ask on-miss --agent ${agentId}`,
    ];
  }
  return [
    `agents can write ${first.path}, and no entry of the allowlist binds its content`,
    `an operator can bind it: svc approvals allowlist add ${JSON.stringify(command.file)} --sha256 ${first.sha256} --agent ${agentId}`,
  ];
}

async function ask(
  wanted: Wanted,
  files: readonly BoundFile[],
  { approver }: PermissionSources,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { agentId, sessionKey, command, env } = wanted;
  const asker = approver();
  if (!asker) {
    throw denied(
      "a person has to allow it, and no plugin that asks people is running",
      "an operator can see why: svc plugins why approvals",
    );
  }
  const { plan, file } = command;
  try {
    return await asker.ask({
      title: questionTitle(wanted),
      // Choice: `allow-always` holds for this command, directory, environment, agent, session and these contents, and for nothing else.
      subject: { argv: plan.argv, file, cwd: plan.cwd, env, agentId, sessionKey, ...(files.length > 0 && { files }) },
      ...(files.length > 0 && { files }),
      kind: "tool:exec",
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

export function denied(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `the command did not run: ${why}. Next: ${next}`);
}
