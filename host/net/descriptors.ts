/** Limits the connections by the process's file descriptors, so that the gateway can still open files, start programs and reach servers. */
import { readdirSync, readFileSync } from "node:fs";

/** File descriptors reserved for everything except connections: more than the import of a large package opens. Choice. */
const RESERVE = 96;
/** Connections accepted however low the descriptor limit is. */
const LEAST = 8;

/** Call it before the first connection. @returns `undefined`: the system reports no limit, or has none */
export function connectionRoom(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    if (soft === undefined) return undefined;
    return Math.max(LEAST, Number(soft) - readdirSync("/proc/self/fd").length - RESERVE);
  } catch {
    return undefined;
  }
}
