/**
 * `svc trim`: writes a self-contained directory with the host, the plugin API, chosen plugins and their dependencies.
 */
import { join, resolve } from "node:path";
import { refuse, selectHere, type Wanted } from "@svc/cli";
import type { CommandContext } from "@svc/sdk/cli";
import { OccupiedDirectory, refuseOccupied } from "./directory.ts";
import { type Contents, sizeText } from "./own-files.ts";
import { PackageProblem } from "./package-tree.ts";
import { planTrimmed, writeTrimmed } from "./trimmed-gateway.ts";

export interface TrimFlags {
  readonly out: string;
  readonly profile?: string;
  readonly plugins?: string;
  readonly withRequirements?: boolean;
  readonly allPlatforms?: boolean;
}

/** @returns the exit code */
export async function trim(flags: TrimFlags, output: CommandContext): Promise<number> {
  const selection = await selectHere(wantedBy(flags), commandLine(flags));
  if (typeof selection === "string") return refuse(selection, output);
  try {
    const allPlatforms = flags.allPlatforms ?? false;
    const out = resolve(flags.out);
    await refuseOccupied(out);
    const contents = await writeTrimmed(out, planTrimmed(selection.plugins, selection.bundle, allPlatforms));
    return tell(out, { ...contents, added: selection.added }, output);
  } catch (error) {
    if (error instanceof PackageProblem || error instanceof OccupiedDirectory) return refuse(error.message, output);
    throw error;
  }
}

function wantedBy({ profile, plugins, withRequirements = false }: TrimFlags): Wanted {
  const names = plugins?.split(",").flatMap((name) => name.trim() || []) ?? [];
  return { profile, names, withRequirements };
}

/** The command line as the user typed it, for the text after `Next:`. */
function commandLine({ out, profile, plugins }: TrimFlags): string {
  const options = [...(profile ? ["--profile", profile] : []), ...(plugins ? ["--plugins", plugins] : [])];
  return ["svc trim --out", out, ...options].join(" ");
}

function tell(
  out: string,
  { plugins, size, full, added }: Contents & { added: readonly string[] },
  output: CommandContext,
) {
  const ids = plugins.map(({ id }) => id);
  const start = `node ${join(out, "svc.js")} gateway run`;
  if (output.json) {
    output.print({ out, plugins: ids, added, size, full: full ?? null, start });
    return 0;
  }
  const lines = [
    `${out}: ${sizeText(size)}${full ? ` (every plugin of the bundle: ${sizeText(full)})` : ""}`,
    `Plugins: ${ids.join(", ")}`,
    ...(added.length > 0 ? [`Added, because others need them: ${added.join(", ")}`] : []),
    `Next: ${start}`,
  ];
  output.print(lines.join("\n"));
  return 0;
}
