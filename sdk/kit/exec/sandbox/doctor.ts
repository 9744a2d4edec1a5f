/** Which sandbox is in force, in words for `svc doctor`. Pure. */
import { commandText, type DoctorFinding } from "@svc/sdk/cli";
import type { SandboxSearch } from "./find.ts";
import type { SandboxRules } from "./rules.ts";

/** Somebody whose programs may have a sandbox. */
export interface SandboxSubject {
  /** E.g. `agent main`. */
  readonly about: string;
  readonly rules: SandboxRules;
  /** Where its mode is set, e.g. `tools.exec.sandbox`. */
  readonly key: string;
}

/** @param isRoot the gateway runs as root: the kernel does not count its processes */
export function sandboxFindings(
  subjects: readonly SandboxSubject[],
  search: SandboxSearch,
  isRoot: boolean,
): DoctorFinding[] {
  return subjects.map(({ about, rules, key }) => ({ check: "sandbox", about, ...stateOf(rules, key, search, isRoot) }));
}

function stateOf(
  { mode, network, memoryMb, processes }: SandboxRules,
  key: string,
  search: SandboxSearch,
  isRoot: boolean,
): Pick<DoctorFinding, "severity" | "message" | "next"> {
  if (mode === "off") {
    const message = "programs run as the user of the gateway, without a sandbox";
    return { severity: "info", message, next: commandText(["svc", "config", "set", `${key}.mode`, "prefer"]) };
  }
  if ("missing" in search) {
    const { missing, install } = search;
    return mode === "require"
      ? { severity: "error", message: `nothing runs: the sandbox is required, and ${missing}`, next: install }
      : {
          severity: "warning",
          message: `programs run without the sandbox that is preferred: ${missing}`,
          next: install,
        };
  }
  const limits = `${memoryMb} MiB of data a process, ${isRoot ? "no limit of processes (the gateway runs as root)" : `${processes} processes`}`;
  const message = `programs run in a sandbox of bubblewrap ${search.version}: ${network ? "with" : "without"} network, ${limits}`;
  return {
    severity: "info",
    message,
    next: isRoot ? "run the gateway as a user of its own" : commandText(["svc", "config", "get", key]),
  };
}
