/** The sandbox of programs that are started for agents: its settings, and whether it holds. Choice: all of it. */
import { defineService } from "../service.ts";
import { type Static, Strict, Type } from "../schema.ts";

/** `off`: none. `prefer`: where this machine can. `require`: nothing runs without it. */
export const SANDBOX_MODES = ["off", "prefer", "require"] as const;

const paths = (description: string) =>
  Type.Optional(Type.Array(Type.String({ pattern: "^/[^\\x00]*$" }), { description }));

/** Keys of `SandboxSettings`, for a schema with options of its own. */
export const SANDBOX_KEYS = {
  mode: Type.Optional(
    Type.Enum([...SANDBOX_MODES], {
      description:
        "off: programs run as the user of the gateway; prefer: in a sandbox where this machine can, else without one, which the log says; require: not at all without one. Default off.",
    }),
  ),
  network: Type.Optional(
    Type.Boolean({
      description:
        "true: the network of this machine, its loopback addresses and with them the gateway included; false: none. Default false.",
    }),
  ),
  memoryMb: Type.Optional(
    Type.Integer({
      minimum: 64,
      description: "MiB of data each process may have, and each of the private directories. Default 4096.",
    }),
  ),
  processes: Type.Optional(
    Type.Integer({
      minimum: 8,
      maximum: 100_000,
      description:
        "Processes and threads at a time. The kernel does not count those of a gateway that runs as root. Default 512.",
    }),
  ),
  readPaths: paths(
    "Absolute paths, without symbolic links, that can be read beside the programs of the system, e.g. /srv/data. Default none.",
  ),
  writePaths: paths(
    "Absolute paths, without symbolic links, that can be read and written beside the working directory. Default none.",
  ),
};

/** What the configuration says about a sandbox at one level: all agents, one agent, one MCP server. */
export const SandboxSettings = Strict(SANDBOX_KEYS);
export type SandboxSettings = Static<typeof SandboxSettings>;

/** The sandbox of commands. */
export interface CommandSandbox {
  /** Whether a command of this agent would run in the sandbox now: its mode is not `off`, and this machine can. Never rejects. */
  inForce(agentId: string): Promise<boolean>;
}

/** Provided by the plugin whose tools run commands. */
export const CommandSandbox = defineService<CommandSandbox>()("command.sandbox", "1.0.0");
