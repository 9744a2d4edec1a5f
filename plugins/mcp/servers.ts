/** All configured servers, and their tools together. */
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
  /** Who finds secrets now; `undefined` while nobody does. */
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  /** Where the program of a server runs that has no `cwd`. */
  readonly directory: (server: string) => string;
  readonly confine: Confine;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default `Math.random`. */
  readonly random?: () => number;
}

export interface Servers {
  /** By the name agents see. */
  tools(): ReadonlyMap<string, Tool>;
  /** Safe to call twice. */
  stop(): Promise<void>;
}

/** Starts to connect them; waits for none. */
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
    // A server may lie: that a tool only reads counts where the operator says it, too.
    ...(isReadOnly && scope === "operator.read" ? { effects: ["reads" as const] } : {}),
    brings: "mcp",
    ...(label === undefined ? {} : { label }),
    // The owner has checked that they match a schema of objects.
    run: (args, { signal }) => server.call(own, args as Readonly<Record<string, unknown>>, signal),
  });
  return [name, tool];
}
