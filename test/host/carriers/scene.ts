/** A gateway with a plugin on disk, in a placement the test chooses. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Plugin } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { directoryOf } from "../kernel/reload-scene.ts";

export { until } from "../kernel/reload-scene.ts";

export interface Written {
  readonly id?: string | undefined;
  /** Further keys of `svc` in its package.json, in addition to id, api and entry. */
  readonly manifest?: object;
  /** Members of the plugin before `setup`. */
  readonly head?: string;
  /** Body of `setup`; `Any`, `method(name)`, `serve` and the SDK are in scope. */
  readonly setup: string;
  /** Lines before the plugin. */
  readonly before?: string;
}

/** Writes a package with one code file. */
export async function packageAt(
  directory: string,
  { id = "guest", manifest = {}, head = "", setup, before = "" }: Written,
) {
  await mkdir(directory, { recursive: true });
  const svc = { id, api: "^1.0.0", entry: "./plugin.ts", namespaces: [id], ...manifest };
  await writeFile(join(directory, "package.json"), JSON.stringify({ name: id, version: "1.0.0", type: "module", svc }));
  await writeFile(
    join(directory, "plugin.ts"),
    `import * as sdk from "@svc/sdk";
import { ModelProvider, Models } from "@svc/sdk/models";
import { defineTool, Tool } from "@svc/sdk/tools";
const { defineContract, defineEvent, defineHook, definePlugin, defineService, live, optional, Type, GatewayError } = sdk;
const Any = Type.Unknown();
const method = (key: string, more = {}) => defineContract("${id}", { [key]: { summary: "-", scope: "operator.read", params: Any, result: Any, ...more } } as any);
${before}
export default definePlugin({ id: "${id}", api: "^1.0.0", ${head}
  async setup(gateway: any) {
    const serve = (key: string, handler: any, more = {}) => gateway.serve(method(key, more), { [key]: handler });
    ${setup}
  },
} as any);
`,
  );
  return directory;
}

export interface SceneOptions {
  readonly run?: "host" | "worker" | "process";
  readonly memoryMb?: number;
  /** In addition to the plugin on disk. */
  readonly plugins?: readonly (Plugin | string)[];
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function isolationScene(t: TestContext, written: Written, options: SceneOptions = {}) {
  const { run = "worker", memoryMb, plugins = [], config = {} } = options;
  const { id = "guest" } = written;
  const home = await directoryOf(t);
  const path = await packageAt(join(home, id), written);
  const entry = { run, ...(memoryMb === undefined ? {} : { memoryMb }) };
  const running = await testGateway(t, {
    plugins: ["plugins", path, ...plugins],
    config: { ...config, plugins: { entries: { [id]: entry } } },
  });
  const report = () => running.gateway.plugins().find((plugin) => plugin.id === id);
  return {
    ...running,
    home,
    path,
    report,
    state: () => report()?.state,
    /** Calls a method of the plugin. */
    ask: (key: string, params: unknown = {}) => running.client.request(`${id}.${key}`, params as object),
    rewrite: (next: Written) => packageAt(path, next),
  };
}
