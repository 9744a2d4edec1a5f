/** A minimal gateway that sets the plugin up and calls its methods. */
import {
  type ConnectionInfo,
  type Denial,
  type Handlers,
  type HookSpec,
  type Plugin,
  type PluginGateway,
  type Principal,
  withDefaults,
} from "@svc/sdk";
import type { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import type { ChatCommands } from "@svc/sdk/commands";
import type { ModelPolicy, Models } from "@svc/sdk/models";
import { type sessions, Sessions } from "@svc/sdk/sessions";
import { Retention, type Storage } from "@svc/sdk/storage";
import type { Tool } from "@svc/sdk/tools";
import { UsageRecords } from "@svc/sdk/usage";
import type { FakeClock } from "./open-store.ts";

export const principal: Principal = {
  id: "token",
  role: "operator",
  scopes: ["operator.admin"],
  provenance: "token",
  epoch: 0,
};

export interface FakeOptions {
  readonly storage: Storage;
  readonly clock: FakeClock;
  readonly config?: object;
  readonly agents?: AgentDirectory;
  readonly models?: Models | undefined;
  readonly policy?: ModelPolicy;
  readonly runs?: Partial<Pick<AgentRuns, "active" | "start">>;
  readonly commands?: Partial<ChatCommands>;
  readonly bindings?: readonly object[];
  /** Sections `tools.sessions` and `tools.agentToAgent`. */
  readonly visibility?: string;
  readonly agentToAgent?: object;
  readonly deny?: Denial;
}

/** Sets up and starts `plugin`. `emitted` lists the hooks it emitted, in order. */
export async function startFake(plugin: Plugin, options: FakeOptions) {
  const { storage, clock, config = {}, bindings = [], agents, models, policy, runs, commands, deny } = options;
  const sections = {
    bindings,
    "tools.sessions": { visibility: options.visibility ?? "tree" },
    "tools.agentToAgent": { enabled: false, allow: [], ...options.agentToAgent },
  };
  const logged: { level: string; fields: object; message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) => void logged.push({ level, fields, message });
  let retention: Retention | undefined;
  let configChanged: ((config: unknown, sections: object) => unknown) | undefined;
  const emitted: { hook: string; input: unknown }[] = [];
  const tools = new Map<string, Tool>();
  const starts: (() => unknown)[] = [];
  let handlers: Handlers<typeof sessions> | undefined;
  let service: Sessions | undefined;
  let records: UsageRecords | undefined;
  let hello: ((snapshot: object) => object) | undefined;
  let started = false;

  const gateway = {
    id: plugin.id,
    config: withDefaults(plugin.config ?? {}, config),
    sections,
    clock,
    log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    signal: new AbortController().signal,
    services: {
      get storage() {
        if (!started) throw new Error("services may be used from start on");
        return storage;
      },
      agents: { get: () => agents },
      models: { get: () => models },
      policy: { get: () => policy },
      runs: { get: () => runs },
      peers: { self: undefined, answer: () => () => undefined },
      commands: { get: () => commands },
    },
    configChanged: (handler: typeof configChanged) => (configChanged = handler),
    serve: (_contract: unknown, given: object) => {
      if ("list" in given) handlers = given as Handlers<typeof sessions>; // of its contracts only this one has it
    },
    event: () => () => undefined,
    provide: (token: { id: string }, value: unknown) => {
      if (token.id === Sessions.id) service = value as Sessions; // by its token
      if (token.id === UsageRecords.id) records = value as UsageRecords;
    },
    extend: (point: { id: string }, id: string, value: Tool | Retention) => {
      if (point.id === Retention.id) retention = value as Retention; // by its point
      else tools.set(id, value as Tool);
    },
    start: (begin: () => unknown) => starts.push(begin),
    hooks: {
      hello: { tap: (handler: (snapshot: object) => object) => (hello = handler) },
      connectionClosed: { tap: () => undefined },
      runEvent: { tap: () => undefined },
    },
    emits: ({ name, kind }: HookSpec) => ({
      isUsed: () => true,
      emit: async (input: unknown) => {
        emitted.push({ hook: name, input });
        return kind === "gate" ? deny : undefined;
      },
    }),
  };
  await plugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that this plugin uses
  started = true;
  for (const start of starts) await start();
  if (!handlers || !service || !records) throw new Error("the plugin served no methods or gave no service");
  return {
    handlers,
    service,
    records,
    tools,
    emitted,
    logged,
    hello: (snapshot: object) => hello?.(snapshot),
    /** Deletes what has expired. */
    tick: async (dryRun = false) => retention?.clean?.(dryRun),
    /** Passes a new configuration, as the host does for hot keys. */
    change: (next: object, changed: object = {}) =>
      configChanged?.(withDefaults(plugin.config ?? {}, next), { ...sections, ...changed }),
  };
}

/** A call of a method, as the host makes it. */
export function call<P>(params: P, client?: { id: string; mode: string }) {
  const connection = client && ({ client: { ...client, version: "1", platform: "x" } } as ConnectionInfo);
  return { params, principal, connection, signal: new AbortController().signal, accept: () => {} };
}
