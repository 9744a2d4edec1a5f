/** Gateways to measure: each with a fresh state directory, removed afterwards. */
import { connect, type GatewayClient } from "@svc/sdk/client";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../checkout.ts";
import {
  type ServerProcess,
  serverEnvironment,
  type ServerOptions,
  serverScript,
  startServer,
} from "./server-process.ts";

/** Token of every gateway here. */
export const TOKEN = "benchmark-token-0123456789abcdef";

/** The smallest useful list of plugins: `health` needs no other plugin. */
export const MINIMAL: readonly string[] = ["health"];

type Config = Readonly<Record<string, unknown>>;

/** A state directory with a configuration in it. */
export interface StateDir extends AsyncDisposable {
  readonly path: string;
  /** Environment of the commands that use it. */
  readonly env: Readonly<Record<string, string>>;
}

const kept = new Set<string>();
// An interrupted run leaves no directory behind either.
process.on("exit", () => {
  for (const path of kept) rmSync(path, { recursive: true, force: true });
});

/** @param config also a function of the path of the directory */
export async function makeStateDir(config: Config | ((path: string) => Config) = {}): Promise<StateDir> {
  const path = await mkdtemp(join(tmpdir(), "svc-bench-"));
  kept.add(path);
  await writeFile(join(path, "svc.json"), JSON.stringify(typeof config === "function" ? config(path) : config));
  return {
    path,
    env: { ...serverEnvironment(path), SVC_STATE_DIR: path, SVC_GATEWAY_TOKEN: TOKEN },
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true });
      kept.delete(path);
    },
  };
}

/** Command line of `svc`, as users run it. */
export const SVC = join(root, "host/cli/svc.js");

/** `svc gateway run` on a free port. It answers no `ask`. */
export function runGateway({ env }: StateDir): Promise<ServerProcess> {
  return startServer([SVC, "gateway", "run", "--port", "0", "--json"], { env, control: false });
}

export interface LoadedGateway extends ServerProcess {
  readonly stateDir: string;
}

/**
 * A gateway with the benchmark's plugin in addition to the others; it answers `ask` with its resource use.
 * @param config without `plugins.use`: the full bundle
 * @param options.files of its state directory, by name
 */
export async function startGateway(
  config: Config = {},
  options: ServerOptions & { readonly files?: Readonly<Record<string, string>> } = {},
): Promise<LoadedGateway> {
  const plugins = { ...(config["plugins"] as object | undefined), load: { paths: [serverScript("bench-plugin")] } };
  const state = await makeStateDir({ ...config, plugins });
  for (const [name, text] of Object.entries(options.files ?? {})) {
    await mkdir(dirname(join(state.path, name)), { recursive: true });
    await writeFile(join(state.path, name), text);
  }
  const discard = () => state[Symbol.asyncDispose]();
  try {
    const server = await startServer([serverScript("gateway")], { ...options, env: state.env });
    const stop = () => server.stop().then(discard);
    return { ...server, stateDir: state.path, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** A gateway in which `fill` has stored something. @throws what `fill` throws; the gateway is stopped then */
export async function startFilled(
  config: Config,
  fill: (client: GatewayClient, gateway: LoadedGateway) => Promise<unknown>,
): Promise<LoadedGateway> {
  const gateway = await startGateway(config);
  const client = await connect({ url: gateway.url, token: TOKEN });
  try {
    await fill(client, gateway);
    return gateway;
  } catch (error) {
    await gateway.stop();
    throw error;
  } finally {
    await client.close();
  }
}
