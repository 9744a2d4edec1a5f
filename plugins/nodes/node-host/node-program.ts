/** The node program: sets up this machine's key, policy and commands, and runs the main loop. */
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { join } from "node:path";
import { type ExecPolicyStore, openExecPolicy, ownPlaces, rulesFor } from "@svc/kit/exec";
import { keepDevice } from "@svc/sdk/device";
import { PreparedContents } from "./contents.ts";
import { createNodeCommands } from "./node-commands.ts";
import { liveAsNode } from "./node-life.ts";
import type { NodeState } from "./node-states.ts";
import type { NodeTarget } from "./target.ts";
import { createSkillPrograms } from "./skill-programs.ts";
import { createUplink } from "./uplink.ts";

export interface NodeProgram {
  readonly target: NodeTarget;
  /** Holds the key of the device (`identity/`) and the policy file. */
  readonly stateDir: string;
  /** Default: the name of this machine. */
  readonly displayName?: string;
  readonly report: (state: NodeState) => void;
  /** Stops the program. */
  readonly signal: AbortSignal;
  /** Environment that programs inherit. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default working directory of programs. Default: that of this process. */
  readonly cwd?: string;
  /** Default: `exec-approvals.json` in the state directory. */
  readonly policy?: ExecPolicyStore;
  readonly random?: () => number;
}

/** @returns the exit code: 0 stopped, 1 permanently refused. @throws Error the key cannot be read or created */
export async function runNodeProgram(program: NodeProgram): Promise<0 | 1> {
  const { target, stateDir, report, signal, env = process.env, cwd = process.cwd(), random } = program;
  const identityDirectory = join(stateDir, "identity");
  const device = keepDevice(identityDirectory);
  const note = (text: string) => report({ state: "note", text });
  const uplink = createUplink(note);
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // one listener per running program
  const places = { ...ownPlaces(), path: env["PATH"] ?? "" };
  const secrets = [target.secret?.token, target.secret?.password].filter((secret) => secret !== undefined);
  const policy = program.policy ?? openExecPolicy(stateDir);
  await noteEmptyPolicy(policy, device.id, note);
  const commands = await createNodeCommands({
    policy,
    places,
    env,
    secrets: () => secrets,
    cwd,
    prepared: new PreparedContents(),
    skillPrograms: createSkillPrograms({ client: () => uplink.client, places }),
    tell: uplink.tell,
    note,
    signal: ending.signal,
  });
  return liveAsNode({
    target,
    device,
    identityDirectory,
    displayName: program.displayName?.trim() || hostname(),
    pathEnv: places.path,
    commands,
    uplink,
    report,
    signal,
    endCommands: () => ending.abort(),
    ...(random ? { random } : {}),
  });
}

/** Notes an empty policy, since owners would otherwise wonder why nothing runs. */
async function noteEmptyPolicy(policy: ExecPolicyStore, nodeId: string, note: (text: string) => void): Promise<void> {
  const file = await policy.policy();
  if (Object.keys(file.agents ?? {}).length > 0 || rulesFor(file, null).security !== "deny") return;
  const next = `svc approvals security allowlist --ask on-miss --node ${nodeId}`;
  note(`the policy file of this machine allows no command yet; to let people decide, run on the gateway: ${next}`);
}
