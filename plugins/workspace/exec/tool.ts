/** The tool `exec`. */
import { rulesFor } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { type Clock, floorOf, type Origin, Strict, Type, unavailable } from "@svc/sdk";
import { defineTool, type ToolContext, type ToolResult } from "@svc/sdk/tools";
import { type ExecConfig, MAX_TIMEOUT_SECONDS } from "../config.ts";
import { writablePlace } from "../files/change.ts";
import { fetchedBy } from "../origins/command-words.ts";
import type { OriginRecord, Span } from "../origins/record.ts";
import type { PlaceSources } from "../place.ts";
import type { BackgroundCommands, Owner } from "../process/background.ts";
import { keptOutput } from "../process/output.ts";
import type { Programs } from "../process/programs.ts";
import { endText, withNote } from "../process/report.ts";
import type { AgentSandbox, Launch } from "../sandbox/agent-sandbox.ts";
import { type Command, commandOf, type CommandRequest } from "./command.ts";
import { addedVariables, commandEnvironment } from "./environment.ts";
import { hasAllowlist } from "./judgement.ts";
import { permit, type PermissionSources, sessionLimitsNow } from "./permission.ts";

/** Choice: UTF-16 units of a command. */
const MAX_COMMAND_CHARS = 32_768;

export interface ExecSources extends PlaceSources, PermissionSources {
  readonly config: () => ExecConfig;
  readonly programs: Programs;
  readonly background: BackgroundCommands;
  readonly sandbox: Pick<AgentSandbox, "confine" | "inForce" | "isSealed">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly record: Pick<OriginRecord, "begin" | "named">;
  /** The gateway's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A command that may run, and how. */
interface Ready {
  readonly text: string;
  readonly launch: Launch;
  readonly env: Readonly<Record<string, string>>;
  /** Whose words its output and its files may hold; `undefined`: the owner's. */
  readonly origin: Origin | undefined;
}

/** Who asked for it, and why people have to allow it. */
interface Asking extends Pick<ToolContext, "outside" | "because" | "signal"> {
  readonly owner: Owner;
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
    // Choice: in a sandbox without a network code may run unasked: nobody outside hears of it.
    effects: async (_params, { call }) =>
      (await sources.sandbox.isSealed(call.agentId)) ? ["writes-workspace"] : ["runs-code"],
    asksItself: true,
    brings: "none",
    label: "Run command",
    runOnly: true,
    async run({ command: text, workdir, timeout, background = false, env: given = {} }, { call, ...context }) {
      const owner: Owner = { agentId: call.agentId, sessionKey: call.sessionKey };
      const wasInForce = await sources.sandbox.inForce(owner.agentId);
      const request = { command: text, workdir, ...owner };
      const { command, env, origin } = await prepared(request, given, sources, { owner, ...context });
      const { file, plan } = command;
      const launch = await sources.sandbox.confine({ file, argv: plan.argv, cwd: plan.cwd }, owner.agentId, wasInForce);
      const ready: Ready = { text, launch, env, origin };
      const span = origin && (await sources.record.begin(owner.agentId, origin));
      try {
        if (background) return started(ready, owner, timeout, span, sources);
        const result = await ran(ready, timeout ?? sources.config().timeoutSec, sources, context.signal);
        await span?.end();
        return result;
      } catch (error) {
        await launch.hold?.release(); // it did not start
        await span?.end();
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
  { outside, because, signal: runSignal }: Asking,
): Promise<{ readonly command: Command } & Pick<Ready, "env" | "origin">> {
  const { agentId, sessionKey } = request;
  const added = addedVariables(given);
  const env = commandEnvironment({ own: sources.env, pathPrepend: sources.config().pathPrepend }, added);
  const rules = rulesFor(await sources.policy(), agentId);
  const limits = await sessionLimitsNow(sessionKey, sources);
  const how = { isListed: hasAllowlist(rules, sources.limits(), limits), path: env["PATH"] ?? "" };
  const find = async () => commandOf(request, await writablePlace(agentId, sources), how);
  const command = await find();
  const ending = new AnySignal(runSignal, sources.programs.signal);
  try {
    await permit({ command, env: added, agentId, sessionKey, because }, sources, ending.signal);
    ending.signal.throwIfAborted();
  } finally {
    ending.release();
  }
  const again = await find();
  if (again.file !== command.file || again.plan.cwd !== command.plan.cwd) {
    unavailable("the program or its directory changed while it was being allowed; try again");
  }
  const named = await sources.record.named(agentId, request.command, command.directory);
  return { command, env, origin: floorOf([outside?.origin, fetchedBy(request.command), named]) };
}

async function ran(
  { launch, env, origin }: Ready,
  timeoutSec: number,
  { programs, clock }: ExecSources,
  signal: AbortSignal,
): Promise<ToolResult> {
  const output = keptOutput();
  const begun = clock.elapsed();
  const program = programs.start({
    ...launch,
    env,
    timeoutMs: timeoutSec * 1_000,
    signal,
    onOutput: output.append,
  });
  const outcome = await program.ended;
  await launch.hold?.release(); // so that nobody reads the workspace as it was prepared for the command
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

/** For programs that read the result. */
function sandboxed({ hold }: Launch): { readonly sandboxed?: true } {
  return hold ? { sandboxed: true } : {};
}

function started(
  { text, launch, env, origin }: Ready,
  owner: Owner,
  timeoutSec: number | undefined,
  span: Span | undefined,
  { background }: ExecSources,
): ToolResult {
  const limit = timeoutSec === undefined ? {} : { timeoutMs: timeoutSec * 1_000 };
  const { id, program } = background.start(owner, { text, ...launch, env, origin, ...limit });
  // A time without an end only says of more files than it has to that they are from outside.
  program.ended.then(() => span?.end()).catch(() => undefined);
  const told = `runs in the background as ${id}; process poll with sessionId ${id} tells what it says and when it ends`;
  return {
    content: [{ type: "text", text: told }],
    details: { sessionId: id, pid: program.pid, status: "running", ...sandboxed(launch) },
  };
}
