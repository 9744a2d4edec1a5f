/** Programs that run outside the checkout, with an environment that does not refer to it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { connect, type GatewayClient } from "@svc/sdk/client";

export async function emptyDirectory(t: { after(remove: () => Promise<void>): void }): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "svc-elsewhere-")));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Place {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A minimal environment: the PATH and a separate home. */
function environment({ cwd, env = {} }: Place): Record<string, string> {
  const path = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":");
  return { PATH: path, HOME: cwd, ...env };
}

/** Runs a program until it ends. */
export async function run(command: string, args: readonly string[], place: Place): Promise<Finished> {
  const child = spawn(command, args, { cwd: place.cwd, env: environment(place), stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

/** Starts a gateway and reads its address from its first line; killed with the test. @param stateDir directory of its token */
export async function startElsewhere(
  t: TestContext,
  command: string,
  args: readonly string[],
  place: Place & { readonly stateDir: string },
): Promise<GatewayClient> {
  const child = spawn(command, [...args, "gateway", "run", "--port", "0", "--json"], {
    cwd: place.cwd,
    env: environment(place),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = once(child, "close");
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    void ended.then(([code]) => reject(new Error(`the gateway ended with ${code}: ${errors}`)));
  });
  const { url } = JSON.parse(line) as { url: string };
  const token = (await readFile(join(place.stateDir, "credentials/gateway-token"), "utf8")).trim();
  const client = await connect({ url, token });
  t.after(() => client.close());
  return client;
}

/** All files below, as relative paths with sizes, except npm's links to commands. @throws Error for any other link */
export async function filesBelow(directory: string): Promise<{ readonly path: string; readonly bytes: number }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory() && basename(entry.parentPath) !== ".bin");
  return Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile()) throw new Error(`${path} is no file`);
      return { path: path.slice(directory.length + 1), bytes: (await stat(path)).size };
    }),
  );
}
