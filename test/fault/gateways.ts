/** Several gateways on one PostgreSQL database, each a process with a state directory of its own; some are killed or suspended. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { emptySchema } from "../postgres.ts";
import { until } from "../until.ts";
import { pause } from "./workload.ts";

/** Milliseconds after which a resumed gateway has noticed how long it was suspended. */
const NOTICE_MS = 1_500;

export interface Gateways {
  /** State directory of each. */
  readonly directories: readonly string[];
  /** By number; `undefined` while it does not run. */
  readonly running: (GatewayProcess | undefined)[];
  /** Base URLs of those that answer. */
  origins(): string[];
  kill(number: number): Promise<void>;
  /** @param port default: a free one */
  start(number: number, port?: string): Promise<GatewayProcess>;
  /** Starts one more. @param directory its state directory */
  add(directory: string): Promise<GatewayProcess>;
  /** Suspends it. @returns resumes it */
  suspend(number: number): () => void;
}

export interface GatewaysOptions {
  /** Further variables of each. */
  readonly envOf?: ((number: number) => Record<string, string>) | undefined;
  /** Address of the database. Default: an empty schema. */
  readonly url?: string;
  /** Token of the configuration. Default: each has its own. */
  readonly token?: string;
}

/** They end with the test. @param config directory with `svc.json`, copied for each */
export async function startGateways(
  t: TestContext,
  count: number,
  config: string,
  { envOf = () => ({}), url: given, token }: GatewaysOptions = {},
): Promise<Gateways> {
  const url = given ?? (await emptySchema());
  const directories = await Promise.all(Array.from({ length: count }, () => mkdtemp(join(tmpdir(), "svc-gateways-"))));
  for (const directory of directories) await cp(config, directory, { recursive: true });
  const running: Gateways["running"] = [];
  const suspended = new Set<number>();
  const start = async (number: number, port?: string) => {
    const env = { SVC_DATABASE_URL: url, ...envOf(number) };
    const gateway = await startGatewayProcess(directories[number] ?? "", env, {
      logLevel: "warn",
      ...(token === undefined ? {} : { token }),
      ...(port === undefined ? {} : { port }),
    });
    suspended.delete(number);
    return (running[number] = gateway);
  };
  const kill = async (number: number) => {
    const gateway = running[number];
    running[number] = undefined;
    await gateway?.kill();
  };
  t.after(async () => {
    for (const number of running.keys()) await kill(number);
    await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })));
  });
  for (const number of directories.keys()) await start(number);
  return {
    directories,
    running,
    origins: () =>
      running.flatMap((gateway, number) =>
        gateway && !suspended.has(number) ? [gateway.url.replace(/^ws/, "http")] : [],
      ),
    kill,
    start,
    add: (directory) => start(directories.push(directory) - 1),
    suspend(number) {
      const { child } = running[number] ?? {};
      suspended.add(number);
      child?.kill("SIGSTOP");
      return () => {
        child?.kill("SIGCONT");
        const gateway = running[number];
        const origin = gateway?.url.replace(/^ws/, "http");
        const isReady = () =>
          fetch(`${origin}/readyz`).then(
            ({ ok }) => ok,
            () => running[number] !== gateway,
          );
        // Once it has noticed that its lease has ended, its plugins start again.
        const back = pause(NOTICE_MS).then(() => until(isReady, "the gateway to be ready"));
        void back.then(
          () => running[number] === gateway && suspended.delete(number),
          () => undefined,
        );
      };
    },
  };
}
