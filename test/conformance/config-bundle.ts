/** The full bundle with its own configuration file, a probe among its plugins, and a clock that the test controls. */
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { definePlugin, live, type Plugin } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { ConfigStore, type ConfigWritten } from "@svc/sdk/config";
import { ModelProvider, type ModelRequest, Models, type ProviderAccount } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { createFakeClock, type FakeClock, type TestGateway, testGateway } from "@svc/sdk/testing";
import { Webhooks } from "@svc/sdk/webhooks";
import { bundledPlugins, root } from "../checkout.ts";
import { directoryOf } from "../host/kernel/reload-scene.ts";
import { keepSamples } from "./config-cases-secrets.ts";

export const BUNDLE: readonly string[] = bundledPlugins();

/** Answers of the running plugins to internal calls, which need no credential. */
export interface Inside {
  readonly store: ConfigStore;
  sessions(): Sessions;
  agents(): AgentDirectory;
  models(): Models;
  runs(): AgentRuns;
  readonly webhooks: Webhooks;
  /** Requests to the model server `probe`, newest last. */
  readonly asked: { readonly request: ModelRequest; readonly account: ProviderAccount }[];
  /** As a plugin's log shows it. */
  logLevel(): unknown;
}

export interface Bundle extends TestGateway {
  readonly inside: Inside;
  readonly clock: FakeClock;
  /** Reasons of the started restarts. */
  readonly restarts: string[];
  /** Replaces the configuration of the file, as `config.set` does. */
  write(config: unknown): Promise<ConfigWritten>;
  /** By plugin. */
  generations(): Record<string, number>;
  /** Ids of plugins whose code is not imported, so that they hold no service of another one. */
  asleep(): ReadonlySet<string>;
}

/** Reports where it runs, and which of its exports it is. */
const TRANSFORM = `import { isMainThread } from "node:worker_threads";
const telling = (which) => () => ({ name: which + (isMainThread ? " in the host" : " in a worker") });
export default telling("default");
export const other = telling("other");
`;

export async function startBundle(t: TestContext, config: unknown): Promise<Bundle> {
  const stateDir = await directoryOf(t, "svc-kinds-");
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  await mkdir(join(stateDir, "hooks/transforms"), { recursive: true });
  await writeFile(join(stateDir, "hooks/transforms/sample.mjs"), TRANSFORM);
  await keepSamples(stateDir);
  const found: { inside?: Inside } = {};
  const clock = createFakeClock();
  const restarts: string[] = [];
  const running = await testGateway(t, {
    stateDir,
    plugins: [...BUNDLE, probe(found)],
    gateway: {
      config: undefined,
      logLevel: undefined, // set by the file
      clock,
      restart: { perform: (reason: string) => void restarts.push(reason) },
    },
  });
  const { inside } = found;
  if (!inside) throw new Error("the probe did not start");
  const write = async (next: unknown) => {
    const change = { actor: "test", action: "config.set", mode: "replace", raw: JSON.stringify(next) } as const;
    const { hash } = await inside.store.snapshot(); // each time, so that one failed write does not fail all later ones
    return inside.store.write({ ...change, baseHash: hash });
  };
  const generations = () => {
    const rows = running.gateway.plugins().map(({ id, generation, state, reason }) => {
      if (state !== "active") throw new Error(`plugin ${id} is ${state}: ${reason}`);
      return [id, generation] as const;
    });
    return Object.fromEntries(rows);
  };
  const asleep = () => new Set(running.gateway.plugins().flatMap((one) => (one.asleep ? [one.id] : [])));
  return { ...running, inside, clock, restarts, write, generations, asleep };
}

/** Requires no plugin of the bundle, so that no change restarts it. */
function probe(found: { inside?: Inside }): Plugin {
  return definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires: {
      store: ConfigStore,
      sessions: live(Sessions),
      agents: live(AgentDirectory),
      models: live(Models),
      runs: live(AgentRuns),
      webhooks: Webhooks,
    },
    setup(gateway) {
      const { services, log } = gateway;
      const asked: Inside["asked"] = [];
      gateway.extend(ModelProvider, "probe", {
        async *stream(request, account) {
          asked.push({ request, account });
          yield { type: "text", delta: "seen" };
          yield { type: "finish", reason: "stop" };
        },
      });
      gateway.route({
        method: "GET",
        path: "/plugins/probe/me",
        auth: "plugin",
        summary: "whom the gateway sees",
        handler: ({ remoteAddress, headers }) => ({ body: `${remoteAddress} ${String(headers["x-svc-agent-id"])}` }),
      });
      gateway.start(() => {
        found.inside = {
          store: services.store,
          sessions: () => there(services.sessions.get()),
          agents: () => there(services.agents.get()),
          models: () => there(services.models.get()),
          runs: () => there(services.runs.get()),
          webhooks: services.webhooks,
          asked,
          logLevel: () => (log as { level?: unknown }).level,
        };
      });
    },
  });
}

function there<T>(service: T | undefined): T {
  if (service === undefined) throw new Error("a service of the bundle is not there");
  return service;
}

/** The plugin that owns the section of a key, and by plugin the others that hold one of its services, directly or indirectly. */
export async function bundlePlugins(): Promise<{
  ownerOf(path: string): string | undefined;
  followers(id: string): Set<string>;
}> {
  const plugins = await Promise.all(
    BUNDLE.map(async (name) => {
      const { svc } = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")) as {
        svc: { entry: string };
      };
      const module = (await import(join(root, "node_modules", name, svc.entry))) as { default: Plugin };
      return module.default;
    }),
  );
  const sections = new Map(
    plugins.flatMap(({ id, config, section, sections = {} }) =>
      [...(config ? [section ?? id] : []), ...Object.keys(sections)].map((key) => [key, id] as const),
    ),
  );
  /** The longest section that is a prefix of the path. */
  const ownerOf = (path: string) => {
    const keys = path.split(".");
    const starts = keys.map((_key, index) => keys.slice(0, keys.length - index).join("."));
    return sections.get(starts.find((start) => sections.has(start)) ?? "");
  };
  const direct = (id: string) => {
    const provided = new Set(plugins.find((plugin) => plugin.id === id)?.provides?.map((token) => token.id));
    return plugins.filter(({ requires = {} }) =>
      Object.values(requires).some((one) => {
        if (one.kind === "live") return false; // a handle that follows
        return provided.has(one.kind === "service" ? one.id : one.token.id);
      }),
    );
  };
  const followers = (id: string, found = new Set<string>()): Set<string> => {
    for (const { id: next } of direct(id)) if (!found.has(next)) followers(next, found.add(next));
    return found;
  };
  return { ownerOf, followers };
}
