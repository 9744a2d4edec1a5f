/** `svc config diff [file]`: differences of two configurations, secrets hidden. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { configIssues, effectiveConfig, secretHintsOf, redact } from "@svc/host/local";
import { type ConfigFile, type Paths, readConfigFile, resolvePaths } from "@svc/host/state";
import { EXIT, type Output, refuse } from "../output.ts";
import { describeDifference, type Difference, differences } from "./differences.ts";
import { loadOwners, type Owners } from "./owners.ts";
import { formatPath, valueAt } from "./path.ts";
import { isUnreadable } from "./read.ts";

/**
 * Without `given`: compares the configuration of the gateway last started from this state directory with the file. With
 * `given`: compares the file with the given one. @returns 0 when both are the same, 1 when they differ
 */
export async function diffConfig(given: string | undefined, output: Output): Promise<number> {
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  if (isUnreadable(file, output)) return EXIT.refused;
  const owners = await loadOwners(file, paths);
  return given === undefined ? diffRunning(file, owners, paths, output) : diffFiles(file, given, owners, output);
}

async function diffFiles(file: ConfigFile, given: string, { installed }: Owners, output: Output): Promise<number> {
  const other = await readConfigFile(resolve(given), process.env);
  if (!other.exists) {
    return refuse(`${other.path} does not exist\nNext: name another file, or none`, output);
  }
  if (isUnreadable(other, output)) return EXIT.refused;
  const hints = secretHintsOf(installed);
  const [left, right] = [effectiveConfig(file, installed), effectiveConfig(other, installed)];
  const [shownLeft, shownRight] = [redact(left, hints), redact(right, hints)];
  // The real values are compared; secrets are hidden in the output.
  const found = differences(left, right).map(({ path }) => ({
    path,
    left: valueAt(shownLeft, path),
    right: valueAt(shownRight, path),
  }));
  return report(found, [file.path, other.path], output);
}

async function diffRunning(file: ConfigFile, { owners, installed }: Owners, paths: Paths, output: Output) {
  const running = runningConfig(paths.startupReport);
  if (running === undefined) {
    const next = "svc gateway run, or compare with a file: svc config diff <file>";
    return refuse(`no gateway was started from ${paths.stateDir}\nNext: ${next}`, output);
  }
  const [wrong] = configIssues(file, owners);
  if (wrong) output.note(`${file.path} is not valid, so no gateway uses it\nNext: svc config validate`);
  const shown = redact(effectiveConfig(file, owners), secretHintsOf(installed));
  return report(differences(running, shown), ["gateway", "file"], output);
}

/** The configuration in the gateway's startup report, secrets hidden. */
function runningConfig(startupReport: string): unknown {
  try {
    return (JSON.parse(readFileSync(startupReport, "utf8")) as { config?: unknown }).config;
  } catch {
    return undefined; // never started
  }
}

function report(found: readonly Difference[], names: readonly [string, string], output: Output): number {
  const same = found.length === 0;
  if (output.json) {
    const changes = found.map(({ path, left, right }) => ({ path: formatPath(path), left, right }));
    output.print({ same, left: names[0], right: names[1], changes });
  } else if (same) {
    output.print(`${names[0]} and ${names[1]} are the same`);
  } else {
    output.print(
      found.flatMap((one) => [formatPath(one.path) || "(file)", ...describeDifference(one, names)]).join("\n"),
    );
  }
  return same ? EXIT.ok : EXIT.refused;
}
