/** `svc config get|file|validate`: the configuration file, read here and now, no gateway needed. */
import type { Plugin } from "@svc/sdk";
import { readConfigFile } from "../config/file.ts";
import type { PluginsSection } from "../config/host-schema.ts";
import { resolvePaths } from "../config/paths.ts";
import { redact } from "../config/redact.ts";
import { composeHints, composeSchema, type SectionOwner, unownedKeys } from "../config/sections.ts";
import { configIssues } from "../config/store.ts";
import { createPluginFinder } from "../kernel/load.ts";
import { EXIT, type Output } from "./output.ts";

/** Where the file is, whether it is there or not. */
export function printConfigFile(output: Output): number {
  const { configPath } = resolvePaths();
  output.print(output.json ? { path: configPath } : configPath);
  return EXIT.ok;
}

/** The value at a dotted path, secrets hidden. */
export async function getConfig(path: string | undefined, output: Output): Promise<number> {
  const { configPath } = resolvePaths();
  const { resolved, issues } = await readConfigFile(configPath, process.env);
  const [first] = issues;
  if (first) {
    output.note(`${configPath}: ${first.path ? `${first.path}: ` : ""}${first.message}\nNext: svc config validate`);
    return EXIT.refused;
  }
  const value = at(redact(resolved, composeHints(composeSchema([]))), path);
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
  const owners = await loadOwners((file.resolved["plugins"] ?? {}) as PluginsSection);
  const issues = configIssues(file, owners);
  const warnings = unownedKeys(file, owners);
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

/** Sections of the plugins that would be loaded; one that cannot be imported is left to `svc plugins list`. */
async function loadOwners({ use, load, entries }: PluginsSection): Promise<SectionOwner[]> {
  const paths = resolvePaths();
  const finder = createPluginFinder({ configDir: paths.configDir, cacheDir: paths.cacheDir, home: paths.home });
  const named = Array.isArray(use) ? use.map((spec) => finder.find(spec)) : finder.bundle();
  const sources = [...named, ...(load?.paths ?? []).map((spec) => finder.find(spec))];
  const plugins = await Promise.all(
    sources.map(async (source): Promise<Plugin[]> => {
      if (!("load" in source)) return [];
      return source.load().then(
        (plugin) => [plugin],
        () => [],
      );
    }),
  );
  return plugins.flat().map((plugin) => ({
    section: plugin.section ?? plugin.id,
    plugin: plugin.id,
    schema: entries?.[plugin.id]?.enabled === false ? undefined : plugin.config,
  }));
}
