/** What a call of `exec` asks for, as the one command that is judged, shown and run. */
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
  /** As it was written. */
  readonly text: string;
  readonly plan: SystemRunPlan & { readonly cwd: string };
  /** The directory below the workspace; `""` is the workspace. */
  readonly directory: string;
  /** Absolute path of the program that runs. */
  readonly file: string;
  /** What it may reach by its entry on the allowlist. */
  readonly place: ExecPlace;
}

const SHELL = "/bin/sh";

/**
 * @param isJudged an allowlist or people decide: a command of plain words is that program itself then, without a shell around it,
 * since no list can say yes to a shell, and since what a shell opens later cannot be held fast
 * @param path `PATH` of the command
 * @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND` for what cannot run
 */
export async function commandOf(
  { command, workdir, agentId, sessionKey }: CommandRequest,
  place: Place,
  { isJudged, path }: { readonly isJudged: boolean; readonly path: string },
): Promise<Command> {
  if (process.platform === "win32") invalidRequest("commands need a POSIX shell, which this machine does not have");
  if (command.trim() === "" || command.includes("\0")) invalidRequest("the command is empty, or has a NUL character");
  const directory = nameWithin((workdir ?? ".").replace(/(?<=.)\/+$/, ""), place);
  const cwd =
    (await directoryWithin(place.root, directory)) ?? notFound(`there is no directory ${workdir} in the workspace`);
  const reach = { root: place.workspace, closed: place.closed, isWorkspace: true };
  const about = { cwd, rawCommand: command, agentId, sessionKey };

  const words = isJudged ? plainWords(command) : undefined;
  const program = words?.[0] && (await resolveProgram(words[0], cwd, { path, platform: process.platform }));
  if (words && program)
    return { text: command, directory, place: reach, file: program, plan: { ...about, argv: [...words] } };
  // A text that begins with - or + would be an option of the shell.
  const argv = ["sh", "-c", command.replace(/^(?=[-+])/, " ")];
  return { text: command, directory, place: reach, file: SHELL, plan: { ...about, argv } };
}
