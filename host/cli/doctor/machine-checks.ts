/** Checks of the machine: Node and the disk. Pure. */
import semver from "semver";
import type { Finding } from "./finding.ts";

/** @param engines Node versions the host supports; `undefined`: unknown */
export function nodeFindings(version: string, engines: string | undefined): Finding[] {
  if (engines === undefined || semver.satisfies(version, engines)) return [];
  const message = `the gateway needs Node ${engines}, but this is ${version}`;
  return [
    {
      severity: "error",
      check: "node",
      about: "node",
      message,
      next: "install that version of Node, then: svc doctor",
    },
  ];
}

/** Bytes. Choice. */
const DISK = { error: 100 * 1_048_576, warning: 1_024 * 1_048_576 };

/** @param free bytes available to this user */
export function diskFindings(path: string, free: number): Finding[] {
  if (free >= DISK.warning) return [];
  const message = `only ${Math.floor(free / 1_048_576)} MiB are free`;
  const severity = free < DISK.error ? "error" : "warning";
  return [{ severity, check: "disk", about: path, message, next: "free space on that disk" }];
}
