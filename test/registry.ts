/** A real npm registry for one test on this machine, and the environment in which npm uses only that registry. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { root } from "./checkout.ts";
import { freePort } from "./free-port.ts";

export interface TestRegistry {
  readonly url: string;
  /** Environment variables that make npm use this registry, with its own cache and without the user's settings. */
  readonly env: Readonly<Record<string, string>>;
  /** `npm publish` of the package in a directory. */
  publish(directory: string): Promise<void>;
  /** Ends the registry now, e.g. to test the message of a command without it. */
  stop(): Promise<void>;
}

/** Milliseconds. */
const START_TIMEOUT = 30_000;

/** Ends with the test. Has only the packages published to it. */
export async function startRegistry(t: Pick<TestContext, "after">): Promise<TestRegistry> {
  const directory = await mkdtemp(join(tmpdir(), "svc-registry-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const child = spawn(
    process.execPath,
    [join(root, "node_modules/verdaccio/bin/verdaccio"), "-c", await writeConfig(directory), "-l", `127.0.0.1:${port}`],
    { cwd: directory, stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  t.after(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  await untilAnswered(
    url,
    () => child.exitCode,
    () => said,
  );

  const env = await npmEnvironment(directory, url);
  const publish = async (from: string) => {
    await promisify(execFile)("npm", ["publish", "--ignore-scripts", "--loglevel=error"], {
      cwd: from,
      env: { ...process.env, ...env },
    });
  };
  return { url, env, publish, stop };
}

async function writeConfig(directory: string): Promise<string> {
  const file = join(directory, "config.yaml");
  const lines = [
    `storage: ${join(directory, "storage")}`,
    "auth:",
    "  htpasswd:",
    `    file: ${join(directory, "htpasswd")}`,
    "packages:",
    "  '**':",
    "    access: $all",
    "    publish: $all",
    "log: { type: stdout, format: pretty, level: warn }",
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

async function npmEnvironment(directory: string, url: string): Promise<Record<string, string>> {
  const settings = join(directory, "npmrc");
  // npm publishes nothing without a token; the registry accepts any.
  await writeFile(settings, `registry=${url}\n${url.replace("http:", "")}:_authToken=of-the-test\n`);
  const cache = join(directory, "cache");
  await mkdir(cache);
  return {
    npm_config_registry: url,
    npm_config_userconfig: settings,
    npm_config_globalconfig: join(directory, "none"),
    npm_config_cache: cache,
    npm_config_update_notifier: "false",
    npm_config_fetch_retries: "0",
  };
}

async function untilAnswered(url: string, exitCode: () => number | null, said: () => string): Promise<void> {
  const giveUp = performance.now() + START_TIMEOUT;
  for (;;) {
    const answer = await fetch(`${url}-/ping`).catch(() => undefined);
    if (answer?.ok) return;
    if (exitCode() !== null || performance.now() > giveUp) throw new Error(`the registry did not start: ${said()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
