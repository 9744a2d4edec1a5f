/** How many connections may be open so that the gateway can still open files, start programs and reach servers. */
import { readdirSync, readFileSync } from "node:fs";

/** File descriptors kept for everything that is no connection: more than a large package opens while it is imported. Choice. */
const RESERVE = 96;
/** Connections that are taken however few files may be open. */
const LEAST = 8;

/** To be asked before the first connection. @returns `undefined`: the system does not say, or has no limit */
export function connectionRoom(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    if (soft === undefined) return undefined;
    return Math.max(LEAST, Number(soft) - readdirSync("/proc/self/fd").length - RESERVE);
  } catch {
    return undefined;
  }
}
