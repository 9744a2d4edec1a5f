/** Shared by the fault tests: writers with a history, a seeded random generator, files of a gateway. */
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isGatewayError } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";

/** Number of random faults. */
export const ROUNDS = Number(process.env["SVC_FAULT_ROUNDS"] ?? 4);
export const SEED = Number(process.env["SVC_FAULT_SEED"] ?? Date.now() % 1_000_000);

/** Writers of one round, and the checks after it. The history persists across rounds. */
export interface Workload {
  /** Acknowledged changes. */
  readonly acknowledged: number;
  /** Writes until `over`. Rejects with the first unjustified refusal, or when the connection is lost. */
  write(connect: () => Promise<GatewayClient>, over: AbortSignal): Promise<void>;
  /** @throws AssertionError naming `context` */
  check(client: GatewayClient, context: string): Promise<void>;
}

/** A small random generator, so that a seed repeats the moments of the faults. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The refusal's code and message, for `assert`. */
export function refusalOf(error: unknown): { readonly code: string; readonly message: string } {
  return isGatewayError(error) ? { code: error.code, message: error.message } : { code: "?", message: String(error) };
}

/** Whether another writer's change came in between. */
export const isConflict = (error: unknown) => refusalOf(error).message.startsWith("config changed since last load");

/** Sets the maximum file size, in bytes, of a running process. Needs `prlimit` (util-linux). */
export function limitFiles(pid: number | undefined, bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);
}

/** Reads the audit log of a state directory. @returns the parsed lines, and the number of partial ones */
export async function readAudit(stateDir: string): Promise<{ lines: Record<string, unknown>[]; torn: number }> {
  const text = await readFile(join(stateDir, "logs/config-audit.jsonl"), "utf8");
  const lines: Record<string, unknown>[] = [];
  let torn = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    try {
      lines.push(JSON.parse(line) as Record<string, unknown>);
    } catch {
      torn += 1;
    }
  }
  return { lines, torn: torn + (text === "" || text.endsWith("\n") ? 0 : 1) };
}

/** Names of temporary files that an interrupted writer left in a directory. */
export async function stagedFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith(".tmp"));
}
