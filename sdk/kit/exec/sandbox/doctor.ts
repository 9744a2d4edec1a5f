/** Reports the effective sandbox for `svc doctor`. Pure. */
import { commandText, type DoctorFinding } from "@svc/sdk/cli";
import type { SandboxSearch } from "./find.ts";
import type { SandboxRules } from "./rules.ts";

/** A subject whose programs may be sandboxed. */
export interface SandboxSubject {
  /** E.g. `agent main`. */
  readonly about: string;
  readonly rules: SandboxRules;
  /** Where its mode is configured, e.g. `tools.exec.sandbox`. */
  readonly key: string;
}

/** @param isRoot the gateway runs as root: the kernel does not limit its processes */
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
          message: `programs run without the preferred sandbox: ${missing}`,
          next: install,
        };
  }
  const limits = `${memoryMb} MiB of data per process, ${isRoot ? "no process limit (the gateway runs as root)" : `${processes} processes`}`;
  const message = `programs run in a sandbox with bubblewrap ${search.version}: ${network ? "with" : "without"} network, ${limits}`;
  return {
    severity: "info",
    message,
    next: isRoot ? "run the gateway as a dedicated user" : commandText(["svc", "config", "get", key]),
  };
}
