/** A PostgreSQL server to measure: the one of Debian, started by `.ci/postgres` on the core of the load, so that it takes nothing from the gateways. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../checkout.ts";

const SCRIPT = join(root, ".ci/postgres");

export interface Database extends AsyncDisposable {
  /** Address of a schema of its own. */
  schema(name: string): string;
}

/** Commits wait for the disk, as they do for people. @throws Error PostgreSQL is not installed */
export async function startDatabase(): Promise<Database> {
  const directory = mkdtempSync(join(tmpdir(), "svc-bench-postgres-"));
  chmodSync(directory, 0o755); // the server runs as another user
  const stop = () => {
    process.off("exit", stop);
    execFileSync(SCRIPT, ["--stop", directory], { stdio: "ignore" });
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", stop);
  const url = execFileSync(SCRIPT, [directory, "on"], { encoding: "utf8" }).trim();
  return { schema: (name) => `${url}?schema=${name}`, [Symbol.asyncDispose]: async () => stop() };
}
