/**
 * The record of installed plugins: one file, which alone determines the active versions. The installer replaces it atomically, so a
 * reader sees the old or the new state. Every start reads it, synchronously.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { describeViolations, matches, messageOf, type Static, Strict, Type } from "@svc/sdk";
import { PLUGIN_ID } from "../kernel/manifest.ts";

const Text = Type.String({ minLength: 1, maxLength: 4_096 });

const version = {
  source: Type.Enum(["npm", "archive", "directory", "git", "link"]),
  /** Requested package specifier; an update requests it again. */
  spec: Text,
  /** Name and version of the package. */
  name: Text,
  version: Text,
  /** Directory of the generation, relative to the extensions directory; for a link, the linked directory. */
  directory: Text,
  /** Subresource integrity (sha512) of the archive it was unpacked from; empty for a link. */
  integrity: Type.String({ maxLength: 256 }),
  /** Hash over every file of the generation; empty for a link. */
  tree: Type.String({ maxLength: 256 }),
  /** Items that were agreed to: see agreed.ts. */
  agreed: Type.Array(Text, { maxItems: 1_000 }),
  /** Incremented with every installation of this id. */
  generation: Type.Integer({ minimum: 1 }),
  /** epoch ms */
  installedAt: Type.Integer(),
};

const InstalledVersion = Strict(version);
export type InstalledVersion = Static<typeof InstalledVersion>;

const InstalledPlugin = Strict({ ...version, previous: Type.Optional(InstalledVersion) });
export type InstalledPlugin = Static<typeof InstalledPlugin>;

const InstalledFile = Strict({
  version: Type.Literal(1),
  plugins: Type.Record(Type.String(), InstalledPlugin),
});

/** By id. */
export type Installed = ReadonlyMap<string, InstalledPlugin>;

/** npm's rule for new package names; a match can be neither an option nor a path out of a directory. */
const PACKAGE_NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const LONGEST_NAME = 214;

/** Whether npm allows this name for a package. */
export function isPackageName(name: string): boolean {
  return name.length <= LONGEST_NAME && PACKAGE_NAME.test(name);
}

/** Maximum size of the record file. bytes */
const LONGEST_RECORD = 4 * 1_024 * 1_024;

/** Private directory of installed plugins. Not to be confused with `<state>/plugins`, the plugins' own state directories. */
export function extensionsOf(stateDir: string): string {
  return join(stateDir, "extensions");
}

export function recordPath(extensions: string): string {
  return join(extensions, "installed.json");
}

/** @returns the installed plugins, empty if none was ever installed; or the problem that makes the whole record unusable */
export function readRecord(extensions: string): Installed | { readonly problem: string } {
  const path = recordPath(extensions);
  let text: string | undefined;
  try {
    text = readOwn(path);
  } catch (error) {
    return { problem: `${path} cannot be read: ${messageOf(error)}` };
  }
  if (text === undefined) return new Map();
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return { problem: `${path} is truncated or not valid JSON` };
  }
  if (!matches(InstalledFile, content))
    return { problem: `${path} does not have the expected content: ${describeViolations(InstalledFile, content)}` };
  const odd = Object.entries(content.plugins).find(([id, one]) => !liesWhereItMust(id, one));
  if (odd) return { problem: `${path} has an invalid directory for the plugin ${odd[0]}` };
  return new Map(Object.entries(content.plugins));
}

/** @returns `undefined` if the file does not exist. @throws Error it has another owner, is writable by others, too large, or unreadable */
function readOwn(path: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { uid, mode, size } = fstatSync(handle);
    const user = process.getuid?.();
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error("it is not a regular file");
    if (user !== undefined && uid !== user && uid !== 0) throw new Error("it belongs to another user");
    if (user !== undefined && (mode & 0o022) !== 0)
      throw new Error("it is writable by others; if it is yours, run: chmod 600");
    if (size > LONGEST_RECORD) throw new Error("it is larger than 4 MiB");
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
}

/** Checks id, name and directory, as they become parts of paths. */
function liesWhereItMust(id: string, one: InstalledPlugin): boolean {
  if (!PLUGIN_ID.test(id)) return false;
  return [one, ...(one.previous ? [one.previous] : [])].every(({ source, directory, generation, name }) =>
    source === "link" ? isAbsolute(directory) : isPackageName(name) && directory === generationName(id, generation),
  );
}

/** Path of a generation, relative to the extensions directory. */
export function generationName(id: string, generation: number): string {
  return `${id}/gen-${generation}`;
}

/** Directory of the plugin's package. */
export function packageDirectory(extensions: string, { source, directory, name }: InstalledVersion): string {
  return source === "link" ? directory : join(extensions, directory, "node_modules", name);
}

/** Content of the record file; equal plugins yield equal bytes. */
export function recordText(installed: Installed): string {
  const plugins = Object.fromEntries([...installed].sort(([left], [right]) => (left < right ? -1 : 1)));
  return `${JSON.stringify({ version: 1, plugins }, null, 2)}\n`;
}
