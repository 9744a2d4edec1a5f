/** Whether a command may run now: the policy, then people where it wants them asked. */
import {
  type BindableRun,
  bindFiles,
  type Binding,
  commandText,
  limitsOf,
  rulesFor,
  type SessionLimits,
} from "@svc/kit/exec";
import { GatewayError, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import type { AllowedProgram, BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import type { Sessions } from "@svc/sdk/sessions";
import type { ExecConfig } from "../config.ts";
import type { Command } from "./command.ts";
import { hasAllowlist, judged, nextStep, type SessionSays, type Verdict } from "./judgement.ts";

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
  /** `PATH` it gets. */
  readonly path: string;
  readonly agentId: string;
  readonly sessionKey: string;
  /** A person has to allow it whatever the policy says: what they are told. */
  readonly because: string | undefined;
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
  const { verdict, contents } = await judgeNow(wanted, sources);
  const { because } = wanted;
  if (verdict.verdict === "allow" && because === undefined) return contents;
  // A refusal names the setting of the session, where that alone wants people asked.
  const setting = verdict.verdict === "ask" && because === undefined ? verdict.reason : undefined;
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
  const answer = await ask({ ...wanted, setting }, all.files, sources, signal);
  signal.throwIfAborted();
  const isYes = answer.decision === "allow-once" || answer.decision === "allow-always";
  const isNo = !isYes && (answer.decision !== null || because !== undefined);
  // What the policy denies by now is denied, whoever allowed it meanwhile; its word about no answer is one about the contents of the question.
  const now = isNo ? undefined : (await judgeNow(wanted, sources, all)).verdict;
  if (!isYes && !(now?.verdict === "ask" && now.fallback === "allow")) {
    const why = answer.reason ?? "nobody allowed it";
    throw denied(withSetting(why, setting), "ask whoever you work for, and try again when they are there");
  }
  return all;
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

/** What its contents are found by. Pure. */
export function bindableRun({
  command: { file, plan },
  env,
  path,
}: Pick<Wanted, "command" | "env" | "path">): BindableRun {
  return { file, argv: plan.argv, cwd: plan.cwd, path, texts: Object.values(env) };
}

/**
 * @param asked contents of the question. Default: those that are there
 * @returns with the contents it was judged by; `undefined`: no allowlist decides
 */
async function judgeNow(
  wanted: Wanted,
  sources: PermissionSources,
  asked?: Binding,
): Promise<{ verdict: Exclude<Verdict, { verdict: "deny" }>; contents: Binding | undefined }> {
  const { command, env, agentId, sessionKey } = wanted;
  const [rules, limits] = [rulesFor(await sources.policy(), agentId), sources.limits()];
  const isSandboxed = (await sources.sandboxed?.(agentId)) === true;
  const says: SessionSays = { limits: await sessionLimitsNow(sessionKey, sources), isSandboxed };
  // An entry means a program by its path: where agents can write what would run, the path says nothing about it.
  const isListed = hasAllowlist(rules, limits, says.limits);
  const contents = isListed ? (asked ?? (await bindFiles(bindableRun(wanted), "runs"))) : undefined;
  const place = { ...command.place, ...(contents && { contents }) };
  const wish = { plan: command.plan, file: command.file, envNames: Object.keys(env), place };
  const verdict = judged(rules, limits, wish, says);
  if (verdict.verdict !== "deny") return { verdict, contents };
  if (verdict.by === "session") throw denied(verdict.reason, verdict.next);
  const entry = entryFor(command, contents);
  const isEnough = entry && judged({ ...rules, allowlist: [entry] }, limits, wish, says).verdict !== "deny";
  if (!isEnough) throw denied(verdict.reason, nextStep(verdict.by, rules, agentId));
  throw denied(
    `agents can write what it runs, and no entry of the allowlist binds these contents to these arguments (${verdict.reason})`,
    `an operator can bind it: ${addCommand(entry, agentId)}`,
  );
}

/** The entry for this command alone, where agents can write one file of what it runs. Pure. */
function entryFor({ file, plan }: Command, contents: Binding | undefined): ListedEntry | undefined {
  const [first, ...more] = contents?.files.filter(({ runs }) => runs === true) ?? [];
  if (first === undefined || more.length > 0) return undefined;
  return { pattern: file, args: plan.argv.slice(1), sha256: first.sha256 };
}

type ListedEntry = Required<Pick<AllowedProgram, "pattern" | "args" | "sha256">>;

function addCommand({ pattern, args, sha256 }: ListedEntry, agentId: string): string {
  const how = args.length === 0 ? ["--exact"] : ["--", ...args];
  return commandText(["svc", "approvals", "allowlist", "add", pattern, "--sha256", sha256, "--agent", agentId, ...how]);
}

/** @param wanted.setting of the session, which alone wants people asked */
async function ask(
  wanted: Wanted & { readonly setting: string | undefined },
  files: readonly BoundFile[],
  { approver }: PermissionSources,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { agentId, sessionKey, command, env, because, setting } = wanted;
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
      // Choice: `allow-always` holds for this command, directory, environment, agent, session and these contents, and for nothing else.
      subject: { argv: plan.argv, file, cwd: plan.cwd, env, agentId, sessionKey, ...(files.length > 0 && { files }) },
      ...(files.length > 0 && { files }),
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

export function denied(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `the command did not run: ${why}. Next: ${next}`);
}
