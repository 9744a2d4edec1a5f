/** `svc config get|file|validate|schema`: read the configuration file; need no gateway. */
import { resolve } from "node:path";
import {
  composeSchema,
  configIssues,
  secretHintsOf,
  redact,
  startIssue,
  unownedKeys,
  withoutForeign,
} from "@svc/host/local";
import { type ConfigFile, type Issue, readConfigFile, resolvePaths } from "@svc/host/state";
import { EXIT, type Output, refuse } from "../output.ts";
import { loadOwners } from "./owners.ts";
import { parsePath, valueAt } from "./path.ts";
import { schemaAt } from "./schema-at.ts";

/** Prints the path of the file, even if it does not exist. */
export function printConfigFile(output: Output): number {
  const { configPath } = resolvePaths();
  output.print(output.json ? { path: configPath } : configPath);
  return EXIT.ok;
}

/** Prints the value at a path, secrets hidden. */
export async function getConfig(path: string | undefined, output: Output): Promise<number> {
  const wanted = path ? parsePath(path) : [];
  const paths = resolvePaths();
  const { configPath } = paths;
  const file = await readConfigFile(configPath, process.env);
  if (isUnreadable(file, output)) return EXIT.refused;
  const { installed } = await loadOwners(file, paths); // a plugin's schema says which of its values are secret
  const value = valueAt(redact(file.resolved, secretHintsOf(installed)), wanted);
  if (value === undefined) return refuse(`${path} is not set in ${configPath}\nNext: svc config get`, output);
  output.print(value);
  return EXIT.ok;
}

/** Reports the first issue of a file that cannot be read. @returns whether there is one */
export function isUnreadable({ path, issues }: ConfigFile, output: Output): boolean {
  const [first] = issues;
  if (!first) return false;
  refuse(`${path}: ${first.path ? `${first.path}: ` : ""}${first.message}\nNext: svc config validate`, output);
  return true;
}

/** Checks a file against the schemas of the host and of every plugin it would load. Starts nothing. */
export async function validateConfig(given: string | undefined, output: Output): Promise<number> {
  const paths = resolvePaths();
  const file = await readConfigFile(given === undefined ? paths.configPath : resolve(given), process.env);
  const { owners, missing, warnings: warningsOf } = await loadOwners(file, paths);
  const issues = [...configIssues(file, owners)];
  const unowned = unownedKeys(file, owners);
  const warnings = [...missing, ...unowned, ...warningsOf(file)];
  const refusal = issues.length === 0 ? await startIssue(file, { env: process.env, paths }) : undefined;
  if (refusal !== undefined) issues.push(refusal);
  if (given !== undefined && !file.exists) issues.push({ path: "", message: "the file does not exist" });
  const { withoutEffect } = withoutForeign(file.resolved);
  const { path, exists } = file;
  if (output.json) {
    const unused = unowned.map((one) => one.path);
    output.print({ path, exists, valid: issues.length === 0, issues, warnings, unused, withoutEffect });
  } else {
    for (const issue of issues) output.print(`error    ${issue.path || "(file)"}: ${issue.message}`);
    for (const warning of warnings) output.print(`warning  ${warning.path}: ${warning.message}`);
    for (const key of withoutEffect) output.print(`ignored  ${key.path}: ${key.message}`);
    output.print(
      issues.length > 0
        ? `${path} is not valid`
        : exists
          ? `${path} is valid`
          : `${path} does not exist; the defaults apply`,
    );
    const [first] = issues;
    if (first) output.note(`Next: correct the file; ${nextFor(first)} shows the allowed values`);
  }
  return issues.length > 0 ? EXIT.refused : EXIT.ok;
}

/** An issue without a path concerns the whole file. */
function nextFor({ path }: Issue): string {
  return `svc config schema${path ? ` ${path}` : ""}`;
}

/** Prints the JSON Schema of the configuration or of one part of it. */
export async function printSchema(path: string | undefined, output: Output): Promise<number> {
  const wanted = path ? parsePath(path) : [];
  const paths = resolvePaths();
  const { installed } = await loadOwners(await readConfigFile(paths.configPath, process.env), paths);
  const schema = schemaAt(composeSchema(installed), wanted);
  if (schema === undefined) {
    return refuse(
      `neither the host nor a plugin in use defines the key ${path}\nNext: svc config schema, or svc plugins list`,
      output,
    );
  }
  output.print(schema);
  return EXIT.ok;
}
