/** Turns the params of a caller into the one plan that is shown, allowed and run. Spec: protocol/methods-node.md §4 `system.run`. */
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { commandTexts } from "@svc/kit/exec";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import type { PrepareParams } from "./params.ts";
import { NodeRefusal } from "./refusal.ts";

/** A plan whose directory exists, is absolute and has no symbolic links. */
export interface PlacedPlan extends SystemRunPlan {
  readonly cwd: string;
}

/**
 * @param base base of a relative `cwd`, and the default directory. Choice: the default is filled in, so that people allow a
 * command for the directory in which it runs.
 * @throws NodeRefusal `INVALID_REQUEST`: no program, no such directory, or `rawCommand` is not the text of the command
 */
export async function planOf(params: PrepareParams, base: string): Promise<PlacedPlan> {
  const { command: argv, rawCommand, cwd, agentId, sessionKey } = params;
  if (!argv[0]?.trim()) throw new NodeRefusal("INVALID_REQUEST", "at /command/0: the program is missing");
  if (present(rawCommand) !== null && !commandTexts(argv).includes(rawCommand ?? "")) {
    throw new NodeRefusal("INVALID_REQUEST", "at /rawCommand: not the text of the command; omit it");
  }
  return {
    argv,
    cwd: await directory(present(cwd) ?? base, base),
    rawCommand: present(rawCommand),
    agentId: present(agentId),
    sessionKey: present(sessionKey),
  };
}

function present(text: string | null | undefined): string | null {
  return text?.trim() ? text : null;
}

async function directory(given: string, base: string): Promise<string> {
  try {
    const real = await realpath(resolve(base, given));
    if ((await stat(real)).isDirectory()) return real;
  } catch {
    // refused below
  }
  throw new NodeRefusal(
    "INVALID_REQUEST",
    `at /cwd: ${JSON.stringify(given).slice(0, 300)} is not a directory on this node`,
  );
}
