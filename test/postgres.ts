/** A real PostgreSQL server: the one of this run (`SVC_TEST_POSTGRES`), or one of a test's own. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { chmod, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { root } from "./checkout.ts";
import { until } from "./until.ts";

const run = promisify(execFile);
const [always, never] = [() => true, () => false];
const SCRIPT = join(root, ".ci/postgres");

/** Why tests with a server of their own are skipped; `false` if there is a server. If `SVC_TEST_POSTGRES` is set, it must exist. */
export function withoutPostgres(): string | false {
  const isThere = existsSync("/usr/lib/postgresql") && readdirSync("/usr/lib/postgresql").length > 0;
  if (isThere || process.env["SVC_TEST_POSTGRES"] !== undefined) return false;
  return "PostgreSQL is not installed; apt-get install postgresql";
}

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** SIGKILL of all its processes. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A server that ends with the test, or with the process. */
export async function startPostgres(t?: Pick<TestContext, "after">): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), "svc-postgres-"));
  await chmod(directory, 0o755); // the server runs as another user
  const stop = () => {
    try {
      execFileSync(SCRIPT, ["--stop", directory], { stdio: "ignore" });
    } catch {
      // a test has killed it
    }
    rmSync(directory, { recursive: true, force: true });
  };
  if (t) t.after(stop);
  else process.once("exit", stop);
  const { stdout } = await run(SCRIPT, [directory]);
  const url = stdout.trim();
  return {
    url,
    port: Number(new URL(url).port),
    async kill() {
      const [pid = ""] = (await readFile(join(directory, "data/postmaster.pid"), "utf8")).split("\n");
      process.kill(-Number(pid), "SIGKILL");
    },
    async start() {
      // The memory of the killed processes is still in use for a moment.
      const begun = () => run(SCRIPT, ["--start", directory]).then(always, never);
      await until(begun, "the start of the server");
    },
  };
}

let shared: Promise<PostgresServer> | undefined;
let schemas = 0;

/** Address of an empty schema. Without `SVC_TEST_POSTGRES`, the tests of a process share a server of their own. */
export async function emptySchema(): Promise<string> {
  const base = process.env["SVC_TEST_POSTGRES"] ?? (await (shared ??= startPostgres())).url;
  schemas += 1;
  return `${base}?schema=s_${process.pid}_${schemas}`;
}
