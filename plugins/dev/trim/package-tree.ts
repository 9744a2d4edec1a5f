/**
 * Resolves the dependencies of packages like Node: searches from each package upwards. Reads only package.json files.
 */
import { messageOf } from "@svc/sdk/errors";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";

/** An installed package. */
export interface InstalledPackage {
  /** Real path. */
  readonly directory: string;
  readonly name: string;
  readonly version: string;
  /** The dependencies by import name. Filled while the tree is read, because packages may need each other. */
  readonly dependencies: Map<string, InstalledPackage>;
}

/** Why a package cannot be included, and what to do. */
export class PackageProblem extends Error {
  override readonly name = "PackageProblem";

  constructor(message: string, next: string, options: { cause?: unknown } = {}) {
    super(`${message}\nNext: ${next}`, options);
  }
}

interface PackageJson {
  readonly name?: string;
  readonly version?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface TreeOptions {
  /** Include installed optional packages for other systems. */
  readonly allPlatforms: boolean;
  /** The plugin API for a package without its own copy of the plugin API. */
  readonly fallback: { readonly name: string; readonly directory: string };
}

/**
 * Reads packages and all dependencies of these packages, each real directory once.
 * @throws PackageProblem naming the missing package and its dependent
 */
export function createPackageReader({ allPlatforms, fallback }: TreeOptions): (directory: string) => InstalledPackage {
  const known = new Map<string, InstalledPackage>();

  function read(path: string): InstalledPackage {
    const directory = realpathSync(path);
    const seen = known.get(directory);
    if (seen) return seen;
    const json = packageJson(directory);
    const { name, version } = json;
    if (!name || !version)
      throw new PackageProblem(
        `${directory}/package.json has no name or no version`,
        "add name and version to the file",
      );
    const found: InstalledPackage = { directory, name, version, dependencies: new Map() };
    known.set(directory, found);
    for (const wanted of wantedBy(json)) {
      const place = locate(wanted.name, directory) ?? (wanted.name === fallback.name ? fallback.directory : undefined);
      if (place === undefined && wanted.optional) continue; // npm omits packages this system cannot use
      if (place === undefined)
        throw new PackageProblem(
          `${name} ${version} needs the package ${wanted.name}, which is not installed`,
          `npm install, in ${directory}`,
        );
      if (wanted.optional && !allPlatforms && !fitsHere(packageJson(place))) continue;
      found.dependencies.set(wanted.name, read(place));
    }
    return found;
  }
  return read;
}

/** Whether the package was installed by a package manager; otherwise it is a source directory. */
export function isInstalled({ directory }: InstalledPackage): boolean {
  return directory.split(sep).includes("node_modules");
}

function packageJson(directory: string): PackageJson {
  try {
    return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageJson;
  } catch (error) {
    const why = messageOf(error);
    throw new PackageProblem(`${directory}/package.json cannot be read: ${why}`, "correct the file", { cause: error });
  }
}

/**
 * Required and optional packages. Optional peers are not included: whoever needs an optional peer installs the peer.
 */
function wantedBy(json: PackageJson): { readonly name: string; readonly optional: boolean }[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = json;
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...new Set([...Object.keys(dependencies), ...peers, ...Object.keys(optionalDependencies)])].map((name) => ({
    name,
    optional: name in optionalDependencies,
  }));
}

/** Directory of the package that an import of this name resolves to from `directory`. */
function locate(name: string, directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    const place = join(at, "node_modules", name);
    if (existsSync(join(place, "package.json"))) return place;
    if (at === dirname(at)) return undefined;
  }
}

/** Checks npm's fields `os` and `cpu`: lists of names, or of names with a leading `!`. */
function fitsHere({ os, cpu }: PackageJson): boolean {
  return allows(os, process.platform) && allows(cpu, process.arch);
}

function allows(list: readonly string[] | undefined, value: string): boolean {
  if (!list || list.length === 0 || list.includes("any")) return true;
  if (list.includes(`!${value}`)) return false;
  return list.includes(value) || list.every((entry) => entry.startsWith("!"));
}
