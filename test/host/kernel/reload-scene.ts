/** A real gateway whose plugins' code changes while it runs, as if their files had been edited. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { defineContract, type Plugin, Type } from "@svc/sdk";
import { PluginControl, type ReloadReport } from "@svc/sdk/plugins";
import { testGateway, type TestGatewayOptions } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";

export { until } from "../../until.ts";

export const Any = Type.Object({});

const METHOD = { summary: "-", scope: "operator.read", params: Any, result: Any } as const;

/** A contract with the method `<namespace>.<key>` for each key, scope `operator.read`. */
export function contractOf<K extends string>(namespace: string, ...keys: K[]) {
  const methods = Object.fromEntries(keys.map((key) => [key, METHOD])) as Record<K, typeof METHOD>;
  return defineContract(namespace, methods);
}

const SLOTS = Symbol.for("svc.test.slots");
const slots: Map<string, () => unknown> = ((globalThis as Record<symbol, unknown>)[SLOTS] ??= new Map()) as never; // also read by the files below
let slotNumber = 0;

/** A file on disk whose default export the test can change. */
export interface Slot {
  /** Name for `plugins` of the gateway. */
  readonly path: string;
  /** Sets the result of the next import; a function is called, so that it can throw. */
  become(plugin: unknown): void;
}

/** @param manifest key `svc` of its package.json; absent: a single file */
export async function slotOf(
  t: TestContext,
  first: unknown,
  manifest?: { id: string; [key: string]: unknown },
): Promise<Slot> {
  const directory = await mkdtemp(join(tmpdir(), "svc-slot-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const name = `slot-${++slotNumber}`;
  const file = join(directory, "plugin.ts");
  await writeFile(file, `export default (globalThis as any)[Symbol.for("svc.test.slots")].get("${name}")();\n`);
  if (manifest) {
    const svc = { api: "^1.0.0", entry: "./plugin.ts", ...manifest };
    await writeFile(join(directory, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", svc }));
  }
  const become = (plugin: unknown) =>
    void slots.set(name, typeof plugin === "function" ? (plugin as () => unknown) : () => plugin);
  become(first);
  return { path: manifest ? directory : file, become };
}

/** Starts a gateway with these plugins and one that reloads them. */
export async function startScene(
  t: TestContext,
  plugins: readonly (Plugin | string | Slot)[],
  options: Omit<TestGatewayOptions, "plugins"> = {},
) {
  let control: PluginControl | undefined;
  const operator = pluginOf("operator", { requires: { control: PluginControl } }, (gateway) =>
    gateway.start(() => void (control = gateway.services.control)),
  );
  const specs = plugins.map((plugin) => (typeof plugin === "object" && "become" in plugin ? plugin.path : plugin));
  const running = await testGateway(t, { ...options, plugins: [operator, ...specs] });
  const report = (id: string) => running.gateway.plugins().find((plugin) => plugin.id === id);
  return {
    ...running,
    /** Reloads a plugin by RPC, as an operator does. */
    reload: (id: string): Promise<ReloadReport> => control?.reload(id) ?? Promise.reject(new Error("not started")),
    report,
    state: (id: string) => report(id)?.state,
  };
}

/** A directory of this test alone. */
export async function directoryOf(t: TestContext, name = "svc-scene-"): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), name));
  // A gateway that is still running may write another file meanwhile.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  await mkdir(directory, { recursive: true });
  return directory;
}

/** A promise that the test resolves or rejects. */
export function barrier<T = void>() {
  let open!: (value: T) => void;
  let fail!: (error: Error) => void;
  const passed = new Promise<T>((resolve, reject) => ((open = resolve), (fail = reject)));
  return { passed, open, fail };
}

/** Lets pending microtasks and immediates run. */
export async function settled(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
