/** `svc config get|file|validate`: the configuration file, read here and now, no gateway needed. */
import type { Plugin } from "@svc/sdk";
import { type ConfigFile, type Issue, readConfigFile } from "../config/file.ts";
import { type Paths, resolvePaths } from "../config/paths.ts";
import { redact } from "../config/redact.ts";
import { composeHints, composeSchema, type SectionOwner, unownedKeys } from "../config/sections.ts";
import { configIssues } from "../config/store.ts";
import { EXIT, type Output } from "./output.ts";
import { plannedPlugins } from "./planned-plugins.ts";

/** Where the file is, whether it is there or not. */
export function printConfigFile(output: Output): number {
  const { configPath } = resolvePaths();
  output.print(output.json ? { path: configPath } : configPath);
  return EXIT.ok;
}

/** The value at a dotted path, secrets hidden. */
export async function getConfig(path: string | undefined, output: Output): Promise<number> {
  const paths = resolvePaths();
  const { configPath } = paths;
  const file = await readConfigFile(configPath, process.env);
  const [first] = file.issues;
  if (first) {
    output.note(`${configPath}: ${first.path ? `${first.path}: ` : ""}${first.message}\nNext: svc config validate`);
    return EXIT.refused;
  }
  const { installed } = await loadOwners(file, paths); // a plugin's schema says which of its values are secret
  const value = at(redact(file.resolved, composeHints(composeSchema(installed))), path);
  if (value === undefined) {
    output.note(`${path} is not set in ${configPath}\nNext: svc config get`);
    return EXIT.refused;
  }
  output.print(value);
  return EXIT.ok;
}

function at(value: unknown, path: string | undefined): unknown {
  if (!path) return value;
  return path.split(".").reduce<unknown>((node, key) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return undefined;
    return (node as Record<string, unknown>)[key];
  }, value);
}

/** Checks the file against the host's schema and that of every plugin it would load. Starts nothing. */
export async function validateConfig(output: Output): Promise<number> {
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const { owners, missing } = await loadOwners(file, paths);
  const issues = configIssues(file, owners);
  const warnings = [...missing, ...unownedKeys(file, owners)];
  const { path, exists } = file;
  if (output.json) {
    output.print({ path, exists, valid: issues.length === 0, issues, warnings });
  } else {
    for (const issue of issues) output.print(`error    ${issue.path || "(file)"}: ${issue.message}`);
    for (const warning of warnings) output.print(`warning  ${warning.path}: ${warning.message}`);
    output.print(
      issues.length > 0
        ? `${path} is not valid`
        : exists
          ? `${path} is valid`
          : `${path} does not exist; the defaults apply`,
    );
  }
  return issues.length > 0 ? EXIT.refused : EXIT.ok;
}

interface Owners {
  /** Sections of the plugins that would run; of the disabled ones without their schema. */
  readonly owners: readonly SectionOwner[];
  /** The same with every schema there is. */
  readonly installed: readonly SectionOwner[];
  /** Plugins that are asked for and are not there. */
  readonly missing: readonly Issue[];
}

/** Imports the plugins that would be loaded; one that cannot be imported is left to `svc plugins list`. */
async function loadOwners(file: ConfigFile, paths: Paths): Promise<Owners> {
  const { sources, disabled } = plannedPlugins(file, paths);
  const plugins = await Promise.all(
    sources.map(async (source): Promise<Plugin[]> => {
      if (!("load" in source)) return [];
      return source.load().then(
        (plugin) => [plugin],
        () => [],
      );
    }),
  );
  const installed = plugins
    .flat()
    .filter(({ config }) => config !== undefined)
    .map((plugin) => ({ section: plugin.section ?? plugin.id, plugin: plugin.id, schema: plugin.config }));
  return {
    installed,
    owners: installed.map((owner) => (disabled.has(owner.plugin) ? { ...owner, schema: undefined } : owner)),
    missing: sources.flatMap((source) => ("load" in source ? [] : [{ path: "plugins", message: source.reason }])),
  };
}
