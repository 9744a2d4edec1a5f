/** Facts about the machine, and the assignment of processes to cores. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

const pinnable = cpus().length > 1 && spawnSync("taskset", ["--version"], { stdio: "ignore" }).status === 0;

/** Pins this process with all its threads to the core of the load. @returns whether servers can be pinned, too */
export function pinLoad(): boolean {
  if (pinnable) execFileSync("taskset", ["-a", "-c", "-p", `${LOAD_CORE}`, `${process.pid}`], { stdio: "ignore" });
  return pinnable;
}

/** The command that runs `argv` on the core of the servers; `argv` itself if pinning is impossible. */
export function onServerCore(argv: readonly string[]): readonly string[] {
  return pinnable ? ["taskset", "-c", `${SERVER_CORE}`, ...argv] : argv;
}

export function machine(): { cpu: string; cores: number; node: string; loadBefore: number } {
  const all = cpus();
  const cpu = all[0]?.model.trim().replace(/\s+/g, " ") ?? "unknown CPU";
  return { cpu, cores: all.length, node: process.versions.node, loadBefore: loadavg()[0] ?? 0 };
}

/** Resident memory of a process, its threads included, in MiB. */
export function residentMiB(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    if (kib !== undefined) return Number(kib) / 1_024;
  } catch {
    // not Linux: ask ps
  }
  return Number(execFileSync("ps", ["-o", "rss=", "-p", `${pid}`], { encoding: "utf8" })) / 1_024;
}
