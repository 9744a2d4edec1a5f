/** All configured servers and their combined tools. */
import type { Clock, Logger } from "@svc/sdk";
import type { Secrets } from "@svc/sdk/secrets";
import { defineTool, type Tool } from "@svc/sdk/tools";
import type { McpConfig, ServerEntry } from "./config.ts";
import type { OfferedTool } from "./offer.ts";
import type { OpenSession } from "./session.ts";
import type { Confine } from "./sandbox.ts";
import { supervise, type Supervised } from "./supervisor.ts";
import { targetOf } from "./target.ts";

export interface ServersOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly open: OpenSession;
  /** The current service `Secrets`; `undefined` while no plugin provides it. */
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  /** Working directory of a program without `cwd`. */
  readonly directory: (server: string) => string;
  readonly confine: Confine;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default `Math.random`. */
  readonly random?: () => number;
}

export interface Servers {
  /** Finds a tool by the name that agents see. */
  tools(): ReadonlyMap<string, Tool>;
  /** Safe to call twice. */
  stop(): Promise<void>;
}

/** Starts connecting all enabled servers in the background. */
export function startServers({ servers }: McpConfig, options: ServersOptions): Servers {
  const { env = process.env, random = Math.random, directory, secrets, confine, ...shared } = options;
  let known: ReadonlyMap<string, Tool> | undefined;
  const supervised = Object.entries(servers)
    .filter(([, { enabled }]) => enabled)
    .map(([name, entry]) => ({
      entry,
      server: supervise({
        ...shared,
        name,
        entry,
        random,
        target: () =>
          targetOf(entry, {
            secrets,
            env,
            cwd: () => directory(name),
            confine: (program, settings) => confine(name, program, settings),
          }),
        changed: () => (known = undefined),
      }),
    }));
  const all = () =>
    supervised.flatMap(({ server, entry }) => server.tools().map((tool) => toTool(tool, server, entry)));
  return {
    tools: () => (known ??= new Map(all())),
    async stop() {
      await Promise.all(supervised.map(({ server }) => server.stop()));
    },
  };
}

function toTool(
  { name, own, label, description, params, isReadOnly }: OfferedTool,
  server: Supervised,
  { scope }: ServerEntry,
): [name: string, tool: Tool] {
  const tool = defineTool({
    description,
    params,
    scope,
    // A server may lie: its read-only hint counts only when the operator has set the scope `operator.read` as well.
    ...(isReadOnly && scope === "operator.read" ? { effects: ["reads" as const], independent: true } : {}),
    brings: "mcp",
    ...(label === undefined ? {} : { label }),
    // The caller has validated the arguments against an object schema.
    run: (args, { signal }) => server.call(own, args as Readonly<Record<string, unknown>>, signal),
  });
  return [name, tool];
}
