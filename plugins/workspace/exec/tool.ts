/** The tool `exec`. */
import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { type Binding, limitsOf, rulesFor } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { type Clock, floorOf, type Origin, Strict, Type, unavailable } from "@svc/sdk";
import type { SkillEnvironment, Skills } from "@svc/sdk/skills";
import { defineTool, type ToolContext, type ToolResult } from "@svc/sdk/tools";
import { type ExecConfig, MAX_TIMEOUT_SECONDS } from "../config.ts";
import { writablePlace } from "../files/change.ts";
import { fetchedBy } from "../origins/command-words.ts";
import type { OriginRecord, Span } from "../origins/record.ts";
import type { PlaceSources } from "../place.ts";
import type { BackgroundCommands, Owner } from "../process/background.ts";
import { keptOutput } from "../process/output.ts";
import { hiding } from "../process/hiding.ts";
import type { Programs } from "../process/programs.ts";
import { endText, withNote } from "../process/report.ts";
import type { AgentSandbox, Launch } from "../sandbox/agent-sandbox.ts";
import { type Command, commandOf, type CommandRequest } from "./command.ts";
import type { Copies } from "./copies.ts";
import { addedVariables, commandEnvironment } from "./environment.ts";
import type { FileHolds } from "../files/file-holds.ts";
import { type HeldStart, holdStart, inPlace } from "./held.ts";
import { hasAllowlist } from "./judgement.ts";
import { bindableRun, permit, type PermissionSources, type Wanted } from "./permission.ts";

/** Choice: maximum UTF-16 units of a command. */
const MAX_COMMAND_CHARS = 32_768;

export interface ExecSources extends PlaceSources, PermissionSources {
  readonly config: () => ExecConfig;
  readonly programs: Programs;
  readonly background: BackgroundCommands;
  readonly copies: Copies;
  readonly holds: FileHolds;
  readonly sandbox: Pick<AgentSandbox, "confine" | "inForce" | "isSealed">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly record: Pick<OriginRecord, "begin" | "named">;
  /** Environment of the gateway. */
  readonly env: Readonly<Record<string, string | undefined>>;
  skills?(): Skills | undefined;
}

/** A permitted command, with its start outside a sandbox. */
interface Prepared extends Pick<Ready, "env" | "origin" | "hidden"> {
  readonly command: Command;
  readonly start: HeldStart;
}

/** A command that is ready to start. */
interface Ready {
  /** The command text of the call. */
  readonly text: string;
  readonly launch: Launch;
  /** Must be called when the command has ended or did not start. Safe to call twice. @throws Error the storage failed; everything else is released */
  release(): Promise<void>;
  readonly env: Readonly<Record<string, string>>;
  /** Values of the skill's variables, which its output does not show. */
  readonly hidden: readonly string[];
  /** Origin of content in its output and files; `undefined`: the owner. */
  readonly origin: Origin | undefined;
}

/** The caller, and the reason for an approval. */
interface Asking extends Pick<ToolContext, "outside" | "because" | "signal"> {
  readonly owner: Owner;
}

export function execTool(sources: ExecSources) {
  return defineTool({
    description:
      "Runs a shell command in your workspace and returns its output and exit code. A person may have to approve it first. " +
      "Processes it leaves running are ended with it; with background it keeps running, and the tool process manages it.",
    params: Strict({
      command: Type.String({ minLength: 1, maxLength: MAX_COMMAND_CHARS, description: "Text for /bin/sh" }),
      workdir: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: "Working directory inside the workspace; default: the workspace",
        }),
      ),
      timeout: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS, description: "Timeout in seconds" }),
      ),
      background: Type.Optional(Type.Boolean({ description: "Do not wait for the command to end; default false" })),
      env: Type.Optional(
        Type.Record(Type.String(), Type.String(), { description: "Variables in addition to the default ones" }),
      ),
      skill: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: "Name of the skill whose instructions say to run this; the command gets its key and programs",
        }),
      ),
    }),
    scope: "operator.write",
    // Choice: in a sandbox without a network code may run without asking, since it cannot send anything out.
    effects: async (_params, { call }) =>
      (await sources.sandbox.isSealed(call.agentId)) ? ["writes-workspace"] : ["runs-code"],
    asksItself: true,
    brings: "none",
    label: "Run command",
    runOnly: true,
    async run({ command: text, workdir, timeout, background = false, env: given = {}, skill }, { call, ...context }) {
      const owner: Owner = { agentId: call.agentId, sessionKey: call.sessionKey };
      const wasInForce = await sources.sandbox.inForce(owner.agentId);
      const request = { command: text, workdir, ...owner, ...(skill !== undefined && { skill }) };
      const allowed = await prepared(request, given, sources, { owner, ...context });
      const ready = await confined(allowed, { agentId: owner.agentId, wasInForce }, sources);
      let isRunning = false;
      try {
        if (!background) return await ran(ready, timeout ?? sources.config().timeoutSec, sources, context.signal);
        const result = started(ready, owner, timeout, sources);
        isRunning = true;
        return result;
      } finally {
        if (!isRunning) await ready.release();
      }
    },
  });
}

/** Judges the command as it will run, and checks it again after people have answered. */
async function prepared(
  request: CommandRequest & { readonly skill?: string },
  given: Readonly<Record<string, string>>,
  sources: ExecSources,
  { outside, because, signal: runSignal }: Asking,
): Promise<Prepared> {
  const { agentId, sessionKey } = request;
  const added = addedVariables(given);
  const skill = request.skill === undefined ? undefined : await skillOf(agentId, request.skill, sources);
  const pathPrepend = [...(skill?.path ?? []), ...sources.config().pathPrepend];
  const env = commandEnvironment({ own: sources.env, pathPrepend }, { ...skill?.env, ...added });
  const rules = rulesFor(await sources.policy(), agentId);
  const path = env["PATH"] ?? "";
  const sessions = await limitsOf(sources.sessions(), sessionKey);
  const limits = sources.limits();
  const isAsked = because !== undefined || [rules, limits, ...sessions].some(({ ask }) => ask === "always");
  const how = { isJudged: isAsked || hasAllowlist(rules, limits, sessions), path };
  const find = async () => commandOf(request, await writablePlace(agentId, sources), how);
  const command = await find();
  const wanted: Wanted = { command, env: added, path, agentId, sessionKey, because, skill };
  const ending = new AnySignal(runSignal, sources.programs.signal);
  let binding: Binding | undefined;
  try {
    binding = await permit(wanted, sources, ending.signal);
    ending.signal.throwIfAborted();
  } finally {
    ending.release();
  }
  const again = await find();
  if (again.file !== command.file || again.plan.cwd !== command.plan.cwd) {
    unavailable("the program or its directory changed while the command waited for permission; try again");
  }
  const named = await sources.record.named(agentId, request.command, command.directory);
  const origin = floorOf([outside?.origin, fetchedBy(request.command), named]);
  const hidden = Object.values(skill?.env ?? {});
  return { command, env, hidden, origin, start: await held(wanted, binding, sources) };
}

/** @throws GatewayError `INVALID_REQUEST`: the agent has no such skill, or it cannot be used; `UNAVAILABLE` */
async function skillOf(
  agentId: string,
  name: string,
  { skills }: ExecSources,
): Promise<SkillEnvironment & { readonly name: string }> {
  const service = skills?.() ?? unavailable("no plugin provides skills; omit skill, or see svc plugins why skills");
  return { name, ...(await service.environment(agentId, name)) };
}

/** @throws GatewayError `FORBIDDEN`: the script has changed since it was judged */
async function held(wanted: Wanted, binding: Binding | undefined, sources: ExecSources): Promise<HeldStart> {
  const run = bindableRun(wanted);
  if (binding === undefined) return inPlace(run);
  const places = [...sources.agents.list().map(({ workspace }) => workspace), tmpdir()];
  const reach = await Promise.all(places.map((place) => realpath(place).catch(() => place)));
  return holdStart(run, binding, { ...sources, reach });
}

/** Puts a prepared command into the sandbox of its agent. Releases its resources when it cannot start. */
async function confined(
  { command, env, hidden, origin, start }: Prepared,
  { agentId, wasInForce }: { readonly agentId: string; readonly wasInForce: boolean },
  { sandbox, record, skills }: ExecSources,
): Promise<Ready> {
  let launch: Launch | undefined;
  let span: Span | undefined;
  const release = async () => {
    await launch?.hold?.release(); // first, so that readers of the workspace do not see its placeholders
    await start.release();
    await span?.end();
  };
  try {
    const program = { file: start.file, argv: start.argv, cwd: command.plan.cwd };
    const readable = wasInForce ? ((await skills?.()?.directories(agentId)) ?? []) : [];
    launch = await sandbox.confine(program, agentId, wasInForce, [...start.directories, ...readable]);
    span = origin && (await record.begin(agentId, origin));
    await start.check();
    return { text: command.text, launch, env, hidden, origin, release };
  } catch (error) {
    await release();
    throw error;
  }
}

async function ran(
  { launch, env, hidden, origin }: Ready,
  timeoutSec: number,
  { programs, clock }: ExecSources,
  signal: AbortSignal,
): Promise<ToolResult> {
  const output = keptOutput(hiding(hidden));
  const begun = clock.elapsed();
  const program = programs.start({
    ...launch,
    env,
    timeoutMs: timeoutSec * 1_000,
    signal,
    onOutput: output.append,
  });
  const outcome = await program.ended;
  const durationMs = Math.round(clock.elapsed() - begun);
  const { text, truncated } = output.end();
  const { exitCode, signal: endedBy, timedOut } = outcome;
  const error = outcome.error ?? outcome.endedFor;
  return {
    content: [{ type: "text", text: withNote(text, endText(outcome, durationMs)) }],
    details: {
      exitCode,
      signal: endedBy,
      timedOut,
      durationMs,
      truncated,
      output: text,
      ...(error && { error }),
      ...sandboxed(launch),
    },
    ...(origin && { origin }),
    ...(error !== undefined && { isError: true }),
  };
}

/** Detail of the result for programs. */
function sandboxed({ hold }: Launch): { readonly sandboxed?: true } {
  return hold ? { sandboxed: true } : {};
}

function started(
  { text, launch, env, hidden, origin, release }: Ready,
  owner: Owner,
  timeoutSec: number | undefined,
  { background }: ExecSources,
): ToolResult {
  const limit = timeoutSec === undefined ? {} : { timeoutMs: timeoutSec * 1_000 };
  const { id, program } = background.start(owner, { text, ...launch, env, hidden, origin, ...limit });
  // If the end cannot be recorded, more files than necessary count as external content, which is safe.
  program.ended.then(release).catch(() => undefined);
  const told = `running in the background as ${id}; process poll with sessionId ${id} returns its output and reports its end`;
  return {
    content: [{ type: "text", text: told }],
    details: { sessionId: id, pid: program.pid, status: "running", ...sandboxed(launch) },
  };
}
