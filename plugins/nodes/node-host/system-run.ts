/**
 * `system.run.prepare` and `system.run`: prepares and runs a program, if this machine's own policy file allows it.
 *
 * Program and directory are resolved once, and exactly these are judged and run. Spec: protocol/methods-node.md §4.
 */
import {
  bindFiles,
  commandText,
  type ExecPolicyStore,
  type ExecRules,
  judgeRun,
  type ProgramEnd,
  type ProgramPlaces,
  refusedVariable,
  resolveProgram,
  rulesFor,
  runProgram,
  withPrograms,
} from "@svc/kit/exec";
import type { BoundFile, SystemRunPlan } from "@svc/sdk/approvals";
import { messageOf } from "@svc/sdk/errors";
import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { type PlacedPlan, planOf } from "./command-plan.ts";
import { bindsNothing, contentsToApprove, otherContents, type PreparedContents } from "./contents.ts";
import { childEnvironment } from "./environment.ts";
import { canBeListed, exactEntry, whyNot } from "./judgement.ts";
import { NODE_STOPS, type PrepareParams, RUN_TIMEOUT_MS, type RunParams } from "./params.ts";
import { NodeRefusal } from "./refusal.ts";
import { rememberProgram } from "./remember-program.ts";

export interface RunSurroundings {
  readonly policy: ExecPolicyStore;
  readonly places: ProgramPlaces;
  /** Environment that programs inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Credentials that no program may see. */
  readonly secrets: () => readonly string[];
  /** Default working directory of programs; absolute. */
  readonly cwd: string;
  readonly prepared: PreparedContents;
  /** Programs of this machine that skills of the gateway name. Default none. */
  readonly skillPrograms?: () => Promise<readonly string[]>;
  /** Sends a report to the gateway: `exec.started`, `exec.finished`, `exec.denied`. */
  readonly tell: (event: string, payload: object) => void;
  /** Prints a line for the owner of this machine. */
  readonly note: (line: string) => void;
  /** Ends all running programs. */
  readonly signal: AbortSignal;
}

/**
 * Choice: a missing program is refused here, before people are asked about it.
 * @returns the plan that a caller shows to people and sends back as `system.run`. Choice: includes the resolved program, the
 * home directory, the directory of the node and the contents to approve, which others need to judge the command
 */
export async function prepareRun(params: PrepareParams, at: RunSurroundings): Promise<PreparedAnswer> {
  const plan = await planOf(params, at.cwd);
  const resolvedPath = await programOf(plan, at.places);
  const cmdText = plan.rawCommand ?? commandText(plan.argv);
  const answer = { cmdText, plan: { ...plan }, resolvedPath, home: homedir(), root: await realpath(at.cwd) };
  const rules = rulesFor(await at.policy.policy(), plan.agentId);
  if (bindsNothing(rules)) return answer;
  const { files, hidesScript } = await contentsToApprove(bindable(plan, resolvedPath, at));
  at.prepared.keep(plan, files);
  const isSkillProgram = (await programsOf(rules, at)).includes(resolvedPath);
  return { ...answer, files, ...(hidesScript && { hidesScript }), ...(isSkillProgram && { isSkillProgram }) };
}

/** Programs that the policy allows because skills name them. */
async function programsOf(
  { autoAllowSkills }: ExecRules,
  { skillPrograms }: RunSurroundings,
): Promise<readonly string[]> {
  return autoAllowSkills === true ? ((await skillPrograms?.()) ?? []) : [];
}

interface PreparedAnswer {
  readonly cmdText: string;
  readonly plan: SystemRunPlan;
  readonly resolvedPath: string;
  readonly home: string;
  /** Directory in which the node was started. */
  readonly root: string;
  /** Contents that an approval binds; absent: the policy allows every command. */
  readonly files?: readonly BoundFile[];
  /** An interpreter with an unknown script: no allowlist entry applies to it. */
  readonly hidesScript?: true;
  /** The policy counts the program as allowed, because a skill of the gateway names it. */
  readonly isSkillProgram?: true;
}

function bindable({ argv, cwd }: PlacedPlan, file: string, { places }: RunSurroundings) {
  return { argv, cwd, file, path: places.path };
}

/** Result of `system.run`, including whether output was left out. */
export interface RunResult extends Omit<ProgramEnd, "error"> {
  readonly success: boolean;
  readonly error: string | null;
}

/** @throws NodeRefusal `INVALID_REQUEST`; `SYSTEM_RUN_DENIED`: denied by the policy of this machine */
export async function systemRun(params: RunParams, at: RunSurroundings): Promise<RunResult> {
  const plan = await planOf(params, at.cwd);
  const env = addedEnvironment(params.env ?? {});
  const file = await programOf(plan, at.places);
  const command = plan.rawCommand ?? commandText(plan.argv);
  const shown = command.slice(0, MAX_SHOWN_CHARS);
  const about = {
    ...(plan.sessionKey === null ? {} : { sessionKey: plan.sessionKey }),
    runId: params.runId ?? randomUUID(),
    host: "node",
    command,
  };

  const reason = await whyNotHere(params, plan, file, at);
  if (reason !== undefined) {
    at.tell("exec.denied", { ...about, reason });
    at.note(`denied (${reason}): ${shown}`);
    throw new NodeRefusal("SYSTEM_RUN_DENIED", reason);
  }
  at.tell("exec.started", about);
  at.note(`running: ${shown}`);
  const running = runProgram({
    file,
    argv: plan.argv,
    cwd: plan.cwd,
    env: childEnvironment(at.env, env, at.secrets()),
    timeoutMs: params.timeoutMs ?? RUN_TIMEOUT_MS.default,
    signal: at.signal,
    stopReason: NODE_STOPS,
  });
  // After the start, so that nothing delays the start after the comparison.
  if (params.approved === true && params.approvalDecision === "allow-always") await remember(at, plan, file);
  const end = await running;
  const { exitCode, timedOut, stdout, stderr, error } = end;
  const success = exitCode === 0 && !timedOut;
  const output = [stdout, stderr, error].filter(Boolean).join("\n").slice(-MAX_EVENT_CHARS);
  at.tell("exec.finished", { ...about, exitCode, timedOut, success, output });
  at.note(`ended (${error ?? `exit code ${exitCode}`}): ${shown}`);
  return { ...end, success, error: error ?? null };
}

/**
 * Why the command may not run, by the policy and by its current contents; `undefined`: it may. Choice: an approval covers the
 * contents sent with it, otherwise those of the preparation.
 */
async function whyNotHere(
  { approved, files, env }: RunParams,
  plan: PlacedPlan,
  file: string,
  at: RunSurroundings,
): Promise<string | undefined> {
  const own = rulesFor(await at.policy.policy(), plan.agentId);
  if (bindsNothing(own)) return undefined;
  const rules = withPrograms(own, await programsOf(own, at));
  const run = bindable(plan, file, at);
  const place = { root: at.cwd, contents: await bindFiles(run, "runs") };
  const verdict = judgeRun(rules, plan, file, Object.keys(env ?? {}), place);
  const reason = whyNot(verdict, approved === true);
  if (reason !== undefined || verdict.verdict === "allow") return reason;
  return otherContents(files ?? at.prepared.of(plan), await bindFiles(run));
}

/** Maximum UTF-16 units of a command in a line for the owner. */
const MAX_SHOWN_CHARS = 200;
/** Maximum UTF-16 units of output in an event; a gateway shows 180 of them. */
const MAX_EVENT_CHARS = 2_000;

function addedEnvironment(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const name of Object.keys(given)) {
    const why = refusedVariable(name);
    if (why !== undefined) throw new NodeRefusal("INVALID_REQUEST", `at /env: ${why}; omit it`);
  }
  return given;
}

async function programOf({ argv, cwd }: PlacedPlan, places: ProgramPlaces): Promise<string> {
  const [name = ""] = argv;
  const file = await resolveProgram(name, cwd, places);
  if (file !== undefined) return file;
  const shown = JSON.stringify(name).slice(0, 300);
  throw new NodeRefusal("INVALID_REQUEST", `at /command/0: program ${shown} not found on this node; see system.which`);
}

/** Failures are only printed: the command was approved and runs anyway, but will need an approval again. */
async function remember(at: RunSurroundings, plan: PlacedPlan, file: string): Promise<void> {
  const { policy, note, cwd } = at;
  const entry = exactEntry(plan, file);
  try {
    const contents = await bindFiles(bindable(plan, file, at), "runs");
    if (contents.files.length > 0) {
      return note(`not added to the allowlist, since agents can write a file that it runs: ${file}`);
    }
    if (!canBeListed(entry, plan, file, { root: cwd, contents })) {
      return note(`not added to the allowlist, since the entry would not mean exactly this command: ${file}`);
    }
    await rememberProgram(policy, plan.agentId, entry);
    note(`added to the allowlist, with these arguments, in this directory: ${file}`);
  } catch (error) {
    note(`not added to the allowlist: ${messageOf(error)}`);
  }
}
