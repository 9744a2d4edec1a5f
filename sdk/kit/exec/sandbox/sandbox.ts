/** Runs programs in a sandbox according to the settings, or reports why it cannot. */
import { realpath } from "node:fs/promises";
import { type Clock, invalidRequest, type Logger, unavailable } from "@svc/sdk";
import { type SandboxedProgram, sandboxArgv } from "./argv.ts";
import { findSandbox, type SandboxSearch } from "./find.ts";
import { sandboxMounts } from "./mounts.ts";
import { type GivenPath, type SandboxPlace, type SandboxRules, sandboxMisfit } from "./rules.ts";
import { existing } from "./system.ts";

/** Choice: milliseconds for which a result of `findSandbox` is reused. */
const FRESH_MS = 60_000;

export interface SandboxOptions {
  readonly clock: Pick<Clock, "elapsed">;
  readonly log: Pick<Logger, "warn">;
  /** Default `findSandbox`. */
  readonly find?: () => Promise<SandboxSearch>;
}

export interface Sandbox {
  /** Whether `confine` would run a program in a sandbox. Never rejects. */
  inForce(rules: Pick<SandboxRules, "mode">): Promise<boolean>;
  /**
   * The program to start: sandboxed, or unchanged if `rules.mode` is `off`, or `prefer` without support on this
   * machine; the latter is logged once per reason. Start it in its own session (`detached` of `spawn`) and end it with
   * its process group.
   * @param about whom it runs for: `agent "main"`
   * @param place called only if there is a sandbox
   * @throws GatewayError `UNAVAILABLE` for `require` without support on this machine; `INVALID_REQUEST` if the paths
   * would expose hidden directories
   */
  confine(
    program: SandboxedProgram,
    rules: SandboxRules,
    about: string,
    place: () => Promise<SandboxPlace>,
  ): Promise<SandboxedProgram>;
}

async function followed(given: string): Promise<GivenPath> {
  return { given, real: await realpath(given).catch(() => undefined) };
}

export function createSandbox({ clock, log, find = findSandbox }: SandboxOptions): Sandbox {
  let latest: { readonly at: number; readonly search: Promise<SandboxSearch> } | undefined;
  const told = new Set<string>();
  const search = () => {
    const now = clock.elapsed();
    if (latest === undefined || now - latest.at >= FRESH_MS) latest = { at: now, search: find() };
    return latest.search;
  };
  return {
    inForce: async ({ mode }) => mode !== "off" && !("missing" in (await search())),

    async confine(program, rules, about, place) {
      if (rules.mode === "off") return program;
      const found = await search();
      if ("missing" in found) {
        const { missing, install } = found;
        if (rules.mode === "require") {
          return unavailable(
            `${about} needs a sandbox, but none is available: ${missing}. Next, for an operator: ${install}`,
          );
        }
        if (!told.has(missing)) {
          told.add(missing);
          log.warn({ about, reason: missing, install }, "programs run without the preferred sandbox");
        }
        return program;
      }
      const around = await place();
      const misfit = sandboxMisfit(await Promise.all([...rules.readPaths, ...rules.writePaths].map(followed)), around);
      if (misfit !== undefined) return invalidRequest(`${about}: ${misfit}`);
      const hidden = await existing([around.stateDir, ...around.hidden]);
      const mounts = sandboxMounts(found.system, rules, around, hidden);
      return { file: found.path, argv: ["bwrap", ...sandboxArgv(program, { ...rules, mounts })], cwd: "/" };
    },
  };
}
