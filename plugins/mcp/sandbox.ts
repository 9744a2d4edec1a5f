/** Starts the program of a server inside its sandbox. */
import { realpath } from "node:fs/promises";
import { type Sandbox, sandboxRules } from "@svc/kit/exec";
import type { SandboxSettings } from "@svc/sdk/tools";
import type { Program } from "./child-transport.ts";

export interface ServerSandboxSources {
  readonly sandbox: Sandbox;
  /** State directory of the gateway. */
  readonly stateDir: () => string;
  /** Files and directories that no program may see, in addition to the state directory: the configuration file. */
  readonly hidden: () => readonly string[];
  /** Home directory of the gateway's user. */
  readonly home: string;
}

/**
 * Returns the program to start. In a sandbox, the program may write to its `cwd`.
 * @throws GatewayError as `Sandbox.confine`
 */
export type Confine = (server: string, program: Program, settings: SandboxSettings) => Promise<Program>;

export function confineWith({ sandbox, stateDir, hidden, home }: ServerSandboxSources): Confine {
  const real = (path: string) => realpath(path).catch(() => path);
  return async (server, program, settings) => {
    const { command, args, env, cwd } = program;
    const rules = sandboxRules(settings);
    if (rules.mode === "off") return program;
    const own = await real(cwd);
    const place = async () => ({
      own: [own],
      locked: [],
      stateDir: await real(stateDir()),
      home: await real(home),
      hidden: hidden(),
    });
    const started = await sandbox.confine(
      { file: command, argv: [command, ...args], cwd: own },
      rules,
      `MCP server "${server}"`,
      place,
    );
    return { command: started.file, args: started.argv.slice(1), env, cwd: started.cwd };
  };
}
