/** What a caller asks for, as the one plan that is shown, allowed and run. Spec: protocol/methods-node.md §4 `system.run`. */
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { commandTexts } from "@svc/kit/exec";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import type { PrepareParams } from "./params.ts";
import { NodeRefusal } from "./refusal.ts";

/** A plan whose directory is known: there, absolute and without symbolic links. */
export interface PlacedPlan extends SystemRunPlan {
  readonly cwd: string;
}

/**
 * @param base what a relative `cwd` is relative to, and the directory when there is none. Choice: it is filled in, so that people
 * allow a command in the place where it runs.
 * @throws NodeRefusal `INVALID_REQUEST`: an empty program, no such directory, or a text that is not this command
 */
export async function planOf(params: PrepareParams, base: string): Promise<PlacedPlan> {
  const { command: argv, rawCommand, cwd, agentId, sessionKey } = params;
  if (!argv[0]?.trim()) throw new NodeRefusal("INVALID_REQUEST", "at /command/0: a program is missing");
  if (present(rawCommand) !== null && !commandTexts(argv).includes(rawCommand ?? "")) {
    throw new NodeRefusal("INVALID_REQUEST", "at /rawCommand: this is not the text of the command; leave it out");
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
    // told below
  }
  throw new NodeRefusal(
    "INVALID_REQUEST",
    `at /cwd: ${JSON.stringify(given).slice(0, 300)} is no directory on this node`,
  );
}
