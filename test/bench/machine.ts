/** Facts about the machine, and the assignment of processes to cores. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";

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

const CGROUPS = "/sys/fs/cgroup";
/** A tenth of the kernel's default: a process stands still for the rest of a period, and the one that waits for it, too. */
const PERIOD_MICROS = 10_000;

/**
 * Limits a process to a share of one core, its threads included, until it ends.
 * @param share 0..1
 * @throws Error this process may not make control groups
 */
export function limitCpu(pid: number, share: number): void {
  const isOld = existsSync(join(CGROUPS, "cpu/cgroup.procs"));
  const group = join(CGROUPS, isOld ? "cpu" : "", `svc-bench-${pid}`);
  const quota = Math.round(share * PERIOD_MICROS);
  try {
    mkdirSync(group);
    groups.push(group);
    if (isOld) {
      writeFileSync(join(group, "cpu.cfs_period_us"), String(PERIOD_MICROS));
      writeFileSync(join(group, "cpu.cfs_quota_us"), String(quota));
    } else writeFileSync(join(group, "cpu.max"), `${quota} ${PERIOD_MICROS}`);
    writeFileSync(join(group, "cgroup.procs"), String(pid));
  } catch (error) {
    throw new Error("the CPU time of a gateway cannot be limited; run the benchmark as root", { cause: error });
  }
}

const groups: string[] = [];
process.on("exit", () => {
  for (const group of groups)
    try {
      rmdirSync(group);
    } catch {
      // its process was killed a moment ago; an empty group costs nothing
    }
});

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
