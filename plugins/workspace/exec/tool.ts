/** The tool `exec`. */
import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { type Binding, rulesFor } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { type Clock, Strict, Type, unavailable } from "@svc/sdk";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import { type ExecConfig, MAX_TIMEOUT_SECONDS } from "../config.ts";
import { writablePlace } from "../files/change.ts";
import type { PlaceSources } from "../place.ts";
import type { BackgroundCommands, Owner } from "../process/background.ts";
import { keptOutput } from "../process/output.ts";
import type { Programs } from "../process/programs.ts";
import { endText, withNote } from "../process/report.ts";
import { type Command, commandOf, type CommandRequest } from "./command.ts";
import type { Copies } from "./copies.ts";
import { addedVariables, commandEnvironment } from "./environment.ts";
import { ContentChanged, type HeldStart, holdStart } from "./held.ts";
import { hasAllowlist } from "./judgement.ts";
import { bindableRun, denied, permit, type PermissionSources, type Wanted } from "./permission.ts";

/** Choice: UTF-16 units of a command. */
const MAX_COMMAND_CHARS = 32_768;

export interface ExecSources extends PlaceSources, PermissionSources {
  readonly config: () => ExecConfig;
  readonly programs: Programs;
  readonly background: BackgroundCommands;
  readonly copies: Copies;
  readonly clock: Pick<Clock, "elapsed">;
  /** The gateway's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A command that may run, and how. */
interface Ready {
  readonly command: Command;
  readonly start: HeldStart;
  readonly env: Readonly<Record<string, string>>;
}

export function execTool(sources: ExecSources) {
  return defineTool({
    description:
      "Runs a shell command in your workspace and gives its output and exit code. A person may have to allow it first. " +
      "Whatever it leaves running is ended with it; with background it runs on, and process looks after it.",
    params: Strict({
      command: Type.String({ minLength: 1, maxLength: MAX_COMMAND_CHARS, description: "Text for /bin/sh" }),
      workdir: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: "Directory of the workspace it runs in; default: the workspace",
        }),
      ),
      timeout: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS, description: "Seconds it may run" }),
      ),
      background: Type.Optional(Type.Boolean({ description: "Do not wait for its end; default false" })),
      env: Type.Optional(
        Type.Record(Type.String(), Type.String(), { description: "Variables it gets beside the usual ones" }),
      ),
    }),
    scope: "operator.write",
    label: "Run command",
    runOnly: true,
    async run({ command: text, workdir, timeout, background = false, env: given = {} }, { call, signal }) {
      const owner: Owner = { agentId: call.agentId, sessionKey: call.sessionKey };
      const ready = await prepared({ command: text, workdir, ...owner }, given, sources, signal);
      try {
        if (background) return started(ready, owner, timeout, sources);
        return await ran(ready, timeout ?? sources.config().timeoutSec, sources, signal);
      } catch (error) {
        await ready.start.release(); // it was not started
        throw error;
      }
    },
  });
}

/** Judged as it will run, and looked at again once people have answered. */
async function prepared(
  request: CommandRequest,
  given: Readonly<Record<string, string>>,
  sources: ExecSources,
  runSignal: AbortSignal,
): Promise<Ready> {
  const { agentId, sessionKey } = request;
  const added = addedVariables(given);
  const env = commandEnvironment({ own: sources.env, pathPrepend: sources.config().pathPrepend }, added);
  const rules = rulesFor(await sources.policy(), agentId);
  const path = env["PATH"] ?? "";
  const limits = sources.limits();
  const isAsked = rules.ask === "always" || limits.ask === "always";
  const how = { isJudged: isAsked || hasAllowlist(rules, limits), path };
  const find = async () => commandOf(request, await writablePlace(agentId, sources), how);
  const command = await find();
  const wanted: Wanted = { command, env: added, path, agentId, sessionKey };
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
    unavailable("the program or its directory changed while it was being allowed; try again");
  }
  return { command, env, start: await held(wanted, binding, sources) };
}

/** @throws GatewayError `FORBIDDEN`: something else lies there by now than what was judged */
async function held(wanted: Wanted, binding: Binding | undefined, sources: ExecSources): Promise<HeldStart> {
  const run = bindableRun(wanted);
  if (binding === undefined) return { file: run.file, argv: run.argv, release: () => Promise.resolve() };
  const places = [...sources.agents.list().map(({ workspace }) => workspace), tmpdir()];
  const reach = await Promise.all(places.map((place) => realpath(place).catch(() => place)));
  try {
    return await holdStart(run, binding, { copies: sources.copies, reach });
  } catch (error) {
    if (error instanceof ContentChanged) throw denied(error.message, "run it again, and it is judged as it is now");
    throw error;
  }
}

async function ran(
  { command, env, start }: Ready,
  timeoutSec: number,
  { programs, clock }: ExecSources,
  signal: AbortSignal,
): Promise<ToolResult> {
  const output = keptOutput();
  const begun = clock.elapsed();
  const program = programs.start({
    file: start.file,
    argv: start.argv,
    cwd: command.plan.cwd,
    env,
    timeoutMs: timeoutSec * 1_000,
    signal,
    onOutput: output.append,
  });
  const outcome = await program.ended;
  await start.release();
  const durationMs = Math.round(clock.elapsed() - begun);
  const { text, truncated } = output.end();
  const { exitCode, signal: endedBy, timedOut } = outcome;
  const error = outcome.error ?? outcome.endedFor;
  return {
    content: [{ type: "text", text: withNote(text, endText(outcome, durationMs)) }],
    details: { exitCode, signal: endedBy, timedOut, durationMs, truncated, output: text, ...(error && { error }) },
    ...(error !== undefined && { isError: true }),
  };
}

function started(
  { command: { text, plan }, env, start: { file, argv, release } }: Ready,
  owner: Owner,
  timeoutSec: number | undefined,
  { background }: ExecSources,
): ToolResult {
  const limit = timeoutSec === undefined ? {} : { timeoutMs: timeoutSec * 1_000 };
  const { id, program } = background.start(owner, { text, file, argv, cwd: plan.cwd, env, ...limit });
  void program.ended.then(release);
  const told = `runs in the background as ${id}; process poll with sessionId ${id} tells what it says and when it ends`;
  return { content: [{ type: "text", text: told }], details: { sessionId: id, pid: program.pid, status: "running" } };
}
