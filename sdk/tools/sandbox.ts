/** The sandbox of programs started for agents: its settings and its state. Choice: all of it. */
import { defineService } from "../service.ts";
import { type Static, Strict, Type } from "../schema.ts";

/** `off`: no sandbox. `prefer`: if this machine supports it. `require`: nothing runs without it. */
export const SANDBOX_MODES = ["off", "prefer", "require"] as const;

const paths = (description: string) =>
  Type.Optional(Type.Array(Type.String({ pattern: "^/[^\\x00]*$" }), { description }));

/** Keys of `SandboxSettings`, for schemas with further keys. */
export const SANDBOX_KEYS = {
  mode: Type.Optional(
    Type.Enum([...SANDBOX_MODES], {
      description:
        "off: programs run as the user of the gateway; prefer: in a sandbox if this machine supports it, otherwise without one and with a log line; require: never without a sandbox. Default off.",
    }),
  ),
  network: Type.Optional(
    Type.Boolean({
      description:
        "true: programs can use the network of this machine, including its loopback addresses and thus the gateway; false: no network. Default false.",
    }),
  ),
  memoryMb: Type.Optional(
    Type.Integer({
      minimum: 64,
      description: "Maximum MiB of data per process, and of each private directory. Default 4096.",
    }),
  ),
  processes: Type.Optional(
    Type.Integer({
      minimum: 8,
      maximum: 100_000,
      description:
        "Maximum number of processes and threads. The kernel does not enforce it for a gateway that runs as root. Default 512.",
    }),
  ),
  readPaths: paths(
    "Absolute paths, without symbolic links, that programs can read in addition to the system programs, e.g. /srv/data. Default none.",
  ),
  writePaths: paths(
    "Absolute paths, without symbolic links, that programs can read and write in addition to the working directory. Default none.",
  ),
};

/** Sandbox settings of one level: all agents, one agent, or one MCP server. */
export const SandboxSettings = Strict(SANDBOX_KEYS);
export type SandboxSettings = Static<typeof SandboxSettings>;

/** State of the sandbox for commands. */
export interface CommandSandbox {
  /**
   * Whether a command of this agent would run in the sandbox now: its mode is not `off`, and this machine supports it.
   * Never rejects.
   */
  inForce(agentId: string): Promise<boolean>;
}

/** Token of the service. */
export const CommandSandbox = defineService<CommandSandbox>()("command.sandbox", "1.0.0", {
  summary: "Reports whether commands run in a sandbox. Provided by the plugin whose tools run commands.",
});
