/** Whether a package is a plugin this gateway can have, decided from its files. Runs nothing of it. */
import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { apiMismatch, type Manifest, ManifestError, parseManifest, readManifest } from "../kernel/manifest.ts";
import { InstallFailure } from "./failure.ts";
import { isPackageName } from "./package-name.ts";
import type { TreeEntry } from "./tree.ts";

/** What a package says of itself. */
export interface PackageFacts {
  readonly name: string;
  readonly manifest: Manifest;
}

/** @param shown what people call it. @throws InstallFailure at `manifest` */
export function factsOf(packageJson: string, shown: string): PackageFacts {
  const what = packageObject(packageJson, shown);
  const { name, version } = what;
  if (typeof name !== "string" || !isPackageName(name))
    throw refused(`the package.json of ${shown} has no name a package may have`, "give it a name in lower case");
  if (typeof version !== "string" || version === "" || version.length > 256)
    throw refused(`the package.json of ${shown} has no version`, "give it a version, e.g. 0.1.0");
  let manifest: Manifest | undefined;
  try {
    manifest = parseManifest(what, `the package.json of ${name}`, "");
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    throw refused(error.message, "tell whoever made the package");
  }
  if (!manifest)
    throw refused(
      `${name} is no plugin: its package.json has no "svc.entry"`,
      "check the name; npm install is for libraries",
    );
  const mismatch = apiMismatch(manifest.api);
  if (mismatch) throw refused(`${name} ${version} does not fit: ${mismatch}`, `svc plugins install ${name}@<version>`);
  return { name, manifest };
}

function packageObject(text: string, shown: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content === "object" && content !== null && !Array.isArray(content)) return { ...content };
  } catch {
    // told below
  }
  throw refused(`the package.json of ${shown} is no JSON object`, "tell whoever made the package");
}

/** The manifest as it lies on disk, its files inside the package. @throws InstallFailure at `manifest` */
export function examinePackage(directory: string): Manifest {
  const manifest = readManifest(directory);
  if (!manifest) throw refused(`${directory} is no plugin: its package.json has no "svc.entry"`, "add it");
  for (const [key, path] of [
    ["entry", manifest.entry],
    ["cli", manifest.cli],
  ] as const)
    if (path !== undefined) mustBeInside(directory, key, path);
  return manifest;
}

function mustBeInside(directory: string, key: string, path: string): void {
  const root = realpathSync(directory);
  let file: string;
  try {
    file = realpathSync(join(root, path));
  } catch {
    const next = "build it before it is packed, and let its package.json list the result under files";
    throw refused(`its ${key} ${path} is not in the package`, next);
  }
  if (!file.startsWith(root + sep))
    throw refused(`its ${key} ${path} leads out of the package`, "tell whoever made it");
  if (!statSync(file).isFile()) throw refused(`its ${key} ${path} is no file`, "tell whoever made it");
}

/** Compiled code, relative to the generation's `node_modules`. */
export function nativeFiles(entries: readonly TreeEntry[]): readonly string[] {
  return entries
    .filter(({ path, stats }) => path.endsWith(".node") && stats.isFile())
    .map(({ path }) => path.replace(/^node_modules\//, ""));
}

function refused(why: string, next: string): InstallFailure {
  return new InstallFailure("manifest", why, next);
}
