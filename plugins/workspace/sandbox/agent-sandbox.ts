/** Starts an agent's command inside the agent's sandbox. */
import { realpath } from "node:fs/promises";
import {
  existing,
  type Sandbox,
  type SandboxedProgram,
  type SandboxPlace,
  type SandboxRules,
  sandboxRules,
} from "@svc/kit/exec";
import type { Logger } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { CommandSandbox } from "@svc/sdk/tools";
import type { ExecConfig } from "../config.ts";
import { type BeforeWrite, placeOf, type PlaceSources } from "../place.ts";
import { IdentityLocks, type IdentityHold } from "./identity.ts";

export interface AgentSandboxSources extends PlaceSources {
  readonly agents: Pick<AgentDirectory, "list" | "toolPolicy">;
  readonly sandbox: Sandbox;
  readonly config: () => Pick<ExecConfig, "sandbox" | "pathPrepend">;
  /** Files and directories that no command may see, in addition to the state directory: the configuration file. */
  readonly hidden: () => readonly string[];
  /** Home directory of the gateway's user. */
  readonly home: string;
  readonly log: Pick<Logger, "warn">;
}

/** A command to start. */
export interface Launch extends SandboxedProgram {
  /** Set in a sandbox; must be released when the command has ended or did not start. */
  readonly hold?: IdentityHold;
}

export interface AgentSandbox extends CommandSandbox {
  /** See `IdentityLocks.endCommands`. */
  readonly endCommands: BeforeWrite;
  /** Whether the agent's commands run in a sandbox without a network, so that their effects stay in the workspace. */
  isSealed(agentId: string): Promise<boolean>;
  /**
   * @param wasInForce result of `inForce` when the command was judged: a command that was allowed because it would run in a
   *   sandbox never runs without one, whatever has changed since
   * @param shown paths of the state directory that the command can read, absolute, without links. Default: none
   * @throws GatewayError as `Sandbox.confine` and `IdentityLocks.hold`
   */
  confine(program: SandboxedProgram, agentId: string, wasInForce: boolean, shown?: readonly string[]): Promise<Launch>;
}

export function agentSandbox(sources: AgentSandboxSources): AgentSandbox {
  const { sandbox, agents, config, log } = sources;
  const identity = new IdentityLocks(log);
  const rulesOf = (agentId: string): SandboxRules =>
    sandboxRules(config().sandbox, agents.toolPolicy(agentId)?.exec?.sandbox);
  return {
    endCommands: (root, name) => identity.endCommands(root, name),
    inForce: (agentId) => sandbox.inForce(rulesOf(agentId)),
    async isSealed(agentId) {
      const rules = rulesOf(agentId);
      return !rules.network && (await sandbox.inForce(rules));
    },

    async confine(program, agentId, wasInForce, shown = []) {
      const configured = rulesOf(agentId);
      const rules: SandboxRules = wasInForce ? { ...configured, mode: "require" } : configured;
      if (rules.mode === "off") return program;
      // The operator has configured these directories for programs.
      const prepended = (await existing(config().pathPrepend)).map(({ path }) => path);
      const readPaths = [...rules.readPaths, ...prepended];
      let hold: IdentityHold | undefined;
      const place = async () => {
        const around = await placeOf(agentId, sources, true);
        const root = around?.root ?? program.cwd; // `placeOf` has created it
        hold = await identity.hold(root);
        return { ...(await sandboxPlace(sources, root, hold.files)), shown };
      };
      try {
        const launch = await sandbox.confine(program, { ...rules, readPaths }, `agent "${agentId}"`, place);
        return hold ? { ...launch, hold } : launch;
      } catch (error) {
        await hold?.release();
        throw error;
      }
    },
  };
}

async function sandboxPlace(
  { agents, stateDir, hidden, home }: AgentSandboxSources,
  root: string,
  locked: readonly string[],
): Promise<SandboxPlace> {
  const workspaces = await existing(agents.list().map(({ workspace }) => workspace));
  const others = workspaces.map(({ path }) => path).filter((path) => path !== root);
  const real = async (path: string) => realpath(path).catch(() => path);
  return {
    own: [root],
    locked,
    stateDir: await real(stateDir()),
    home: await real(home),
    hidden: [...others, ...hidden()],
  };
}
