/** Decides whether a command may run now: first the policy, then people if the policy requires an approval. */
import {
  type BindableRun,
  bindFiles,
  type Binding,
  commandText,
  type ExecRules,
  limitsOf,
  rulesFor,
  withPrograms,
} from "@svc/kit/exec";
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { AllowedProgram, BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import type { Sessions } from "@svc/sdk/sessions";
import type { Skills } from "@svc/sdk/skills";
import type { ExecConfig } from "../config.ts";
import type { Command } from "./command.ts";
import { hasAllowlist, judged, nextStep, type SessionSays, type Verdict } from "./judgement.ts";

export interface PermissionSources {
  /** The current policy file. */
  policy(): Promise<ExecPolicyFile>;
  limits(): Pick<ExecConfig, "security" | "ask">;
  approver(): Approver | undefined;
  sessions(): Pick<Sessions, "get" | "canonicalKey"> | undefined;
  skills?(): Pick<Skills, "programs"> | undefined;
  /** Whether commands of this agent run in a sandbox. Absent: none do. */
  sandboxed?(agentId: string): boolean | Promise<boolean>;
}

/** A command with its environment and caller. */
export interface Wanted {
  readonly command: Command;
  readonly env: Readonly<Record<string, string>>;
  /** `PATH` of the command. */
  readonly path: string;
  /** The skill that the command belongs to, with the variables that an operator gave it. Absent: none. */
  readonly skill?: { readonly name: string; readonly env: Readonly<Record<string, string>> } | undefined;
  readonly agentId: string;
  readonly sessionKey: string;
  /** Set when people must approve regardless of the policy: the reason they are shown. */
  readonly because: string | undefined;
}

/** Choice: maximum UTF-16 units of a command that needs an approval, since people must see all of it. */
const MAX_ASKED_CHARS = 3_000;

/**
 * @returns the judged contents, with which alone the command may run; `undefined`: contents are not bound
 * @throws GatewayError `FORBIDDEN` with the reason and the next step; `INVALID_REQUEST`: too long for an approval
 */
export async function permit(
  wanted: Wanted,
  sources: PermissionSources,
  signal: AbortSignal,
): Promise<Binding | undefined> {
  const { verdict, contents } = await judgeNow(wanted, sources);
  const { because } = wanted;
  if (verdict.verdict === "allow" && because === undefined) return contents;
  // The refusal names the setting of the session when only that requires an approval.
  const setting = verdict.verdict === "ask" && because === undefined ? verdict.reason : undefined;
  if (wanted.command.text.length > MAX_ASKED_CHARS) {
    invalidRequest(
      `this command needs an approval, and is longer than ${MAX_ASKED_CHARS} characters; write it to a file and run that`,
    );
  }
  const all = await bindFiles(bindableRun(wanted));
  if (all.fault !== undefined) {
    throw denied(
      `it needs an approval, and its contents cannot be bound: ${all.fault}`,
      "name fewer or smaller files, or ask an operator to run it",
    );
  }
  const answer = await ask({ ...wanted, setting }, all.files, sources, signal);
  signal.throwIfAborted();
  const isYes = answer.decision === "allow-once" || answer.decision === "allow-always";
  const isNo = !isYes && (answer.decision !== null || because !== undefined);
  // The policy is checked again: it may deny by now whatever people answered. Its fallback applies to the contents of the question.
  const now = isNo ? undefined : (await judgeNow(wanted, sources, all)).verdict;
  if (!isYes && !(now?.verdict === "ask" && now.fallback === "allow")) {
    const why = answer.reason ?? "nobody approved it";
    throw denied(withSetting(why, setting), "ask the person you work for, and try again when they are available");
  }
  return all;
}

/** The parts of a command that determine its file contents. Pure. */
export function bindableRun({
  command: { file, plan },
  env,
  path,
}: Pick<Wanted, "command" | "env" | "path">): BindableRun {
  return { file, argv: plan.argv, cwd: plan.cwd, path, texts: Object.values(env) };
}

/**
 * @param asked contents of the question. Default: the current contents
 * @returns the verdict with the contents it is based on; `undefined`: no allowlist decides
 */
async function judgeNow(
  wanted: Wanted,
  sources: PermissionSources,
  asked?: Binding,
): Promise<{ verdict: Exclude<Verdict, { verdict: "deny" }>; contents: Binding | undefined }> {
  const { command, env, agentId, sessionKey } = wanted;
  const [rules, limits] = [await rulesOf(agentId, sources), sources.limits()];
  const isSandboxed = (await sources.sandboxed?.(agentId)) === true;
  const says: SessionSays = { limits: await limitsOf(sources.sessions(), sessionKey), isSandboxed };
  // An entry names a program by its path, which identifies nothing if agents can write that file; so contents are compared.
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
    `agents can write a file that it runs, and no allowlist entry binds these contents to these arguments (${verdict.reason})`,
    `an operator can bind them: ${addCommand(entry, agentId)}`,
  );
}

async function rulesOf(agentId: string, { policy, skills }: PermissionSources): Promise<ExecRules> {
  const rules = rulesFor(await policy(), agentId);
  const programs = rules.autoAllowSkills === true ? await skills?.()?.programs(agentId) : undefined;
  return withPrograms(rules, programs ?? []);
}

/** An entry for exactly this command, if agents can write exactly one of the files it runs. Pure. */
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

/** @param wanted.setting setting of the session, when only that requires an approval */
async function ask(
  wanted: Wanted & { readonly setting: string | undefined },
  files: readonly BoundFile[],
  { approver }: PermissionSources,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { agentId, sessionKey, command, because, setting, skill } = wanted;
  const env = { ...skill?.env, ...wanted.env };
  const asker = approver();
  if (!asker) {
    throw denied(
      withSetting("it needs an approval, and no plugin that asks people is running", setting),
      "an operator can see why: svc plugins why approvals",
    );
  }
  const { plan, file } = command;
  try {
    return await asker.ask({
      title: questionTitle(wanted),
      // Choice: `allow-always` applies only to this command, directory, environment, agent, session and these contents.
      subject: {
        argv: plan.argv,
        file,
        cwd: plan.cwd,
        env,
        agentId,
        sessionKey,
        ...(skill && { skill: skill.name }),
        ...(files.length > 0 && { files }),
      },
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
    throw denied(`it needs an approval, and people could not be asked: ${error.message}`, "try again later");
  }
}

/** Title of the question: the command, preceded by its directory, skill and added variables unless all are the default. Pure. */
export function questionTitle({
  command: { text, directory },
  env,
  skill,
}: Pick<Wanted, "command" | "env" | "skill">): string {
  const names = Object.keys({ ...skill?.env, ...env }).sort();
  const isUsual = directory === "" && names.length === 0 && skill === undefined;
  // A command that starts with `[` gets a real prefix, so that it cannot imitate one.
  if (isUsual && !text.startsWith("[")) return text;
  const where = directory === "" ? "the workspace" : JSON.stringify(directory);
  const of = skill === undefined ? "" : `, for the skill ${JSON.stringify(skill.name)}`;
  return `[in ${where}${of}${names.length === 0 ? "" : `, with ${names.join(", ")}`}] ${text}`;
}

function withSetting(why: string, setting: string | undefined): string {
  return setting === undefined ? why : `${why} (${setting})`;
}

export function denied(why: string, next: string): GatewayError {
  return new GatewayError("FORBIDDEN", `the command did not run: ${why}. Next: ${next}`);
}
