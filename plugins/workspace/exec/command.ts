/** Turns a call of `exec` into the one command that is judged, shown and run. */
import { type ExecPlace, resolveProgram } from "@svc/kit/exec";
import { directoryWithin } from "@svc/kit/files";
import { invalidRequest, notFound } from "@svc/sdk";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import { nameWithin, type Place } from "../place.ts";
import { plainWords } from "./words.ts";

export interface CommandRequest {
  readonly command: string;
  readonly workdir?: string | undefined;
  readonly agentId: string;
  readonly sessionKey: string;
}

export interface Command {
  /** The command text of the call. */
  readonly text: string;
  readonly plan: SystemRunPlan & { readonly cwd: string };
  /** Working directory relative to the workspace; `""` is the workspace. */
  readonly directory: string;
  /** Absolute path of the program that runs. */
  readonly file: string;
  /** Paths that an allowlist entry lets the command reach. */
  readonly place: ExecPlace;
}

const SHELL = "/bin/sh";

/**
 * @param isJudged an allowlist or people decide: a command of plain words then runs its program directly, without a shell,
 * since an allowlist never allows a shell, and since the files that a shell opens later cannot be bound
 * @param path `PATH` of the command
 * @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND`: the command cannot run
 */
export async function commandOf(
  { command, workdir, agentId, sessionKey }: CommandRequest,
  place: Place,
  { isJudged, path }: { readonly isJudged: boolean; readonly path: string },
): Promise<Command> {
  if (process.platform === "win32") invalidRequest("commands need a POSIX shell, which this platform does not have");
  if (command.trim() === "" || command.includes("\0"))
    invalidRequest("the command is empty or contains a NUL character");
  const directory = nameWithin((workdir ?? ".").replace(/(?<=.)\/+$/, ""), place);
  const cwd =
    (await directoryWithin(place.root, directory)) ?? notFound(`there is no directory ${workdir} in the workspace`);
  const reach = { root: place.workspace, closed: place.closed, isWorkspace: true };
  const about = { cwd, rawCommand: command, agentId, sessionKey };

  const words = isJudged ? plainWords(command) : undefined;
  const program = words?.[0] && (await resolveProgram(words[0], cwd, { path, platform: process.platform }));
  if (words && program)
    return { text: command, directory, place: reach, file: program, plan: { ...about, argv: [...words] } };
  // The shell would parse a text that starts with - or + as an option.
  const argv = ["sh", "-c", command.replace(/^(?=[-+])/, " ")];
  return { text: command, directory, place: reach, file: SHELL, plan: { ...about, argv } };
}
