/** `svc config set|unset`: changes the configuration file, with or without a running gateway, and waits until a running one has read it. */
import type { ConfigWarning } from "@svc/sdk";
import { commandText } from "@svc/sdk/cli";
import type { ConfigEdit, ConfigStore, ConfigWritten } from "@svc/sdk/config";
import { createConfigStore, startIssue, type SectionOwner, unownedKeys, VERSION } from "@svc/host/local";
import { type ConfigFile, type Paths, readConfigFile, resolvePaths } from "@svc/host/state";
import { EXIT, type Output, refuse } from "../output.ts";
import { issueLines, issuesOf, stepAfter, textPathOf } from "./issues.ts";
import { loadOwners, type Owners } from "./owners.ts";
import { formatPath, type Path, parsePath, placeIn, valueAt } from "./path.ts";
import { parseValue } from "./value.ts";

export interface SetFlags {
  /** Treat the value as text, even if it is valid JSON5. */
  readonly string?: boolean;
}

/** @returns the exit code */
export async function setConfig(path: string, text: string, flags: SetFlags, output: Output): Promise<number> {
  const wanted = parsePath(path);
  const value = await parseValue(text, flags.string ?? false);
  const hint =
    typeof value === "string" ? "" : `\nTo set it as text: svc config set ${commandText(["--string", path, text])}`;
  return changeConfig({ action: "config.set", hint }, output, (parsed) => [{ path: place(parsed, wanted), value }]);
}

/** @returns the exit code */
export async function unsetConfig(path: string, output: Output): Promise<number> {
  const wanted = parsePath(path);
  let absent = false;
  const code = await changeConfig({ action: "config.unset" }, output, (parsed) => {
    const at = place(parsed, wanted);
    absent = valueAt(parsed, at) === undefined;
    return absent ? [] : [{ path: at }];
  });
  if (!absent) return code;
  return refuse(`${path} is not set in ${resolvePaths().configPath}\nNext: svc config get`, output);
}

function place(parsed: unknown, path: Path): (string | number)[] {
  return [...placeIn(parsed, path)];
}

type Decide = (parsed: Readonly<Record<string, unknown>>) => readonly ConfigEdit[];

export interface ChangeOptions {
  /** Action recorded in the audit log. */
  readonly action: string;
  /** Printed when a value was refused for its type. */
  readonly hint?: string;
  /** Printed with the change: `lines` as text, `facts` as keys of the JSON value. */
  readonly more?: { readonly lines: readonly string[]; readonly facts: object };
  /** The file after the change, if the change affects which plugins own its sections. Default: the current file. */
  readonly next?: (file: ConfigFile) => ConfigFile;
}

/** Makes the edits, then prints what changed and whether the gateway of this state directory uses it. @returns the exit code */
export async function changeConfig(options: ChangeOptions, output: Output, decide: Decide): Promise<number> {
  const { action, hint = "", more, next } = options;
  const paths = resolvePaths();
  const { owners, warnings, before, store } = await openStore(paths, next);
  let edits: readonly ConfigEdit[] = [];
  let written: ConfigWritten;
  try {
    written = await store.edit({ actor: "cli", action }, (parsed) => (edits = decide(parsed)));
  } catch (error) {
    const issues = issuesOf(error);
    if (output.json || issues.length === 0) throw error;
    for (const line of issueLines(issues)) output.note(line);
    const wrong = textPathOf(issues);
    const about = edits.some(({ path }) => formatPath(path) === wrong) ? hint : "";
    output.note(`Nothing was changed.${about}\nNext: ${stepAfter(issues)}`);
    return EXIT.refused;
  }
  const set = edits.filter((edit) => "value" in edit);
  return edits.length > 0
    ? tell(written, { paths, owners, warnings, before, set, ...(more ? { more } : {}) }, output)
    : EXIT.ok;
}

interface Change {
  readonly paths: Paths;
  readonly owners: readonly SectionOwner[];
  readonly warnings: Owners["warnings"];
  /** The file before the change. */
  readonly before: ConfigFile;
  /** Edits that set a value; removals are not included. */
  readonly set: readonly ConfigEdit[];
  readonly more?: ChangeOptions["more"];
}

/** @returns the exit code: a change that the running gateway refuses counts as failed */
async function tell(written: ConfigWritten, change: Change, output: Output): Promise<number> {
  const { paths, owners, set, more } = change;
  const { path, hash, changed, reload } = written;
  const file = await readConfigFile(paths.configPath, process.env);
  // A misspelt section name is valid: a plugin installed later could own it.
  const unused = unownedKeys(file, owners).filter(({ path }) => set.some((edit) => isAbout(edit.path, path)));
  for (const { path: section, message } of unused)
    output.note(
      `warning: ${section}: ${message}\nNext: ${commandText(["svc", "config", "unset", section])}, or svc plugins list`,
    );
  for (const { path: key, message } of newWarnings(file, change)) output.note(`warning: ${key}: ${message}`);
  const isUsed = changed.length > 0 && unused.length === 0;
  if (changed.length === 0 && !output.json) output.print(`${path} already has this value.`);
  else if (!output.json)
    output.print([`${path}: changed ${writtenIn(file, changed).join(", ")}`, ...(more?.lines ?? [])].join("\n"));
  const { acknowledged } = await import("./acknowledgement.ts"); // connects to the running gateway, if any
  const gateway = isUsed ? await acknowledged({ path, hash, stateDir: paths.stateDir }, output.note) : undefined;
  if (output.json)
    output.print({ path, hash, changed, reload: reload ?? null, ...(gateway ? { gateway } : {}), ...more?.facts });
  else if (gateway) output.print(gateway.text);
  return gateway?.state === "refused" ? EXIT.refused : EXIT.ok;
}

/** Warnings about the edited keys, and warnings about other keys that are new. */
function newWarnings(file: ConfigFile, { warnings, before, set }: Change): readonly ConfigWarning[] {
  const known = new Set(warnings(before).map(({ path, message }) => `${path}: ${message}`));
  return warnings(file).filter(
    ({ path, message }) => !known.has(`${path}: ${message}`) || set.some((edit) => isAbout(edit.path, path)),
  );
}

/** The changed paths that are written in the file, without defaults; all of them if a value was removed. */
function writtenIn({ resolved }: ConfigFile, changed: readonly string[]): readonly string[] {
  const written = changed.filter((path) => valueAt(resolved, path.split(".")) !== undefined);
  return written.length > 0 ? written : changed;
}

/** Whether the edit is inside the section or contains it. */
function isAbout(edit: ConfigEdit["path"], section: string): boolean {
  const [at, of] = [`${edit.join(".")}.`, `${section}.`];
  return at.startsWith(of) || of.startsWith(at);
}

/** Opens the configuration store for the file, with the sections of all plugins a start would load. */
export async function openStore(
  paths: Paths,
  next: (file: ConfigFile) => ConfigFile = (file) => file,
): Promise<{ store: ConfigStore; before: ConfigFile } & Pick<Owners, "owners" | "warnings">> {
  const file = await readConfigFile(paths.configPath, process.env);
  const { owners, warnings } = await loadOwners(next(file), paths);
  const store = await createConfigStore({
    paths,
    env: process.env,
    version: VERSION,
    owners: () => owners,
    initial: file,
    // Reports only an error caused by this change: an existing error must not block other corrections.
    validate: async ({ previous, next }) => {
      const issue = (checked: ConfigFile) => startIssue(checked, { env: process.env, paths });
      const refusal = (await issue(previous)) === undefined ? await issue(next) : undefined;
      if (refusal === undefined) return undefined;
      const { path, message } = refusal;
      const [section = path] = path.split(".");
      const why = path === section ? message : `${path} ${message}`;
      return { allow: false, reason: `a gateway would not start: ${why}\nNext: svc config schema ${section}` };
    },
  });
  return { store, before: file, owners, warnings };
}
