/**
 * `system.run.prepare` and `system.run`: from what a gateway asks to a program that ran, by this machine's own policy file.
 *
 * The program and its directory are resolved once; what was resolved is what is judged and what runs. Spec: protocol/methods-node.md §4.
 */
import {
  bindFiles,
  commandText,
  type ExecPolicyStore,
  judgeRun,
  type ProgramEnd,
  type ProgramPlaces,
  refusedVariable,
  resolveProgram,
  rulesFor,
  runProgram,
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
  /** Environment programs inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Credentials no program may see. */
  readonly secrets: () => readonly string[];
  /** Where programs run that are told no directory; absolute. */
  readonly cwd: string;
  readonly prepared: PreparedContents;
  /** Reports to the gateway: `exec.started`, `exec.finished`, `exec.denied`. */
  readonly tell: (event: string, payload: object) => void;
  /** A line for the owner of this machine. */
  readonly note: (line: string) => void;
  /** Ends all that runs. */
  readonly signal: AbortSignal;
}

/**
 * Choice: a program that is not there is refused here, before people are asked about it.
 * @returns what a caller shows to people and sends back as `system.run`; Choice: with the program that would run, the home
 * directory, the directory of the node and the contents an approval is for, which whoever judges the command elsewhere needs as well
 */
export async function prepareRun(params: PrepareParams, at: RunSurroundings): Promise<PreparedAnswer> {
  const plan = await planOf(params, at.cwd);
  const resolvedPath = await programOf(plan, at.places);
  const cmdText = plan.rawCommand ?? commandText(plan.argv);
  const answer = { cmdText, plan: { ...plan }, resolvedPath, home: homedir(), root: await realpath(at.cwd) };
  if (bindsNothing(rulesFor(await at.policy.policy(), plan.agentId))) return answer;
  const { files, hidesScript } = await contentsToApprove(bindable(plan, resolvedPath, at));
  at.prepared.keep(plan, files);
  return { ...answer, files, ...(hidesScript && { hidesScript }) };
}

interface PreparedAnswer {
  readonly cmdText: string;
  readonly plan: SystemRunPlan;
  readonly resolvedPath: string;
  readonly home: string;
  /** Where the node was started. */
  readonly root: string;
  /** Contents an approval binds; absent: the policy lets everything run. */
  readonly files?: readonly BoundFile[];
  /** An interpreter whose script is not known: no entry of an allowlist holds for it. */
  readonly hidesScript?: true;
}

function bindable({ argv, cwd }: PlacedPlan, file: string, { places }: RunSurroundings) {
  return { argv, cwd, file, path: places.path };
}

/** What clients read, and whether some output was left out. */
export interface RunResult extends Omit<ProgramEnd, "error"> {
  readonly success: boolean;
  readonly error: string | null;
}

/** @throws NodeRefusal `INVALID_REQUEST`, or `SYSTEM_RUN_DENIED` by the policy of this machine */
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
  at.note(`runs: ${shown}`);
  const running = runProgram({
    file,
    argv: plan.argv,
    cwd: plan.cwd,
    env: childEnvironment(at.env, env, at.secrets()),
    timeoutMs: params.timeoutMs ?? RUN_TIMEOUT_MS.default,
    signal: at.signal,
    stopReason: NODE_STOPS,
  });
  // Once it has started, so that nothing comes between the comparison and the start.
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
 * Why it does not run, by the policy and by what lies there now; `undefined`: it does. Choice: an approval is of the contents that
 * came along with it, else of those it was prepared with.
 */
async function whyNotHere(
  { approved, files, env }: RunParams,
  plan: PlacedPlan,
  file: string,
  at: RunSurroundings,
): Promise<string | undefined> {
  const rules = rulesFor(await at.policy.policy(), plan.agentId);
  if (bindsNothing(rules)) return undefined;
  const run = bindable(plan, file, at);
  const place = { root: at.cwd, contents: await bindFiles(run, "runs") };
  const verdict = judgeRun(rules, plan, file, Object.keys(env ?? {}), place);
  const reason = whyNot(verdict, approved === true);
  if (reason !== undefined || verdict.verdict === "allow") return reason;
  return otherContents(files ?? at.prepared.of(plan), await bindFiles(run));
}

/** UTF-16 units of a command in a line for the owner. */
const MAX_SHOWN_CHARS = 200;
/** UTF-16 units of output in an event; a gateway shows 180 of them. */
const MAX_EVENT_CHARS = 2_000;

function addedEnvironment(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const name of Object.keys(given)) {
    const why = refusedVariable(name);
    if (why !== undefined) throw new NodeRefusal("INVALID_REQUEST", `at /env: ${why}; leave it out`);
  }
  return given;
}

async function programOf({ argv, cwd }: PlacedPlan, places: ProgramPlaces): Promise<string> {
  const [name = ""] = argv;
  const file = await resolveProgram(name, cwd, places);
  if (file !== undefined) return file;
  const shown = JSON.stringify(name).slice(0, 300);
  throw new NodeRefusal(
    "INVALID_REQUEST",
    `at /command/0: there is no program ${shown} on this node; see system.which`,
  );
}

/** It was approved and runs in any case; that it will be asked for again is told to the owner. */
async function remember(at: RunSurroundings, plan: PlacedPlan, file: string): Promise<void> {
  const { policy, note, cwd } = at;
  const entry = exactEntry(plan, file);
  try {
    const contents = await bindFiles(bindable(plan, file, at), "runs");
    if (contents.files.length > 0) {
      return note(`not on the allowlist, since agents can write what it runs: ${file}`);
    }
    if (!canBeListed(entry, plan, file, { root: cwd, contents })) {
      return note(`not on the allowlist, since it would let in more than this command: ${file}`);
    }
    await rememberProgram(policy, plan.agentId, entry);
    note(`on the allowlist now, with these arguments, in this directory: ${file}`);
  } catch (error) {
    note(`not on the allowlist: ${messageOf(error)}`);
  }
}
