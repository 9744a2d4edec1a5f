/** The files of a package that an installation on this system would get. */
import { execFile } from "node:child_process";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type InstalledPackage, isInstalled, PackageProblem } from "./package-tree.ts";

/** A file, relative to its package, with `/`. */
export interface PackageFile {
  readonly path: string;
  readonly bytes: number;
}

export type FilesOf = ReadonlyMap<InstalledPackage, readonly PackageFile[]>;

/**
 * An installed package has exactly its published files; for a source directory, npm reports what it would publish.
 * @throws PackageProblem if npm cannot be called, or a package contains a link
 */
export async function filesOf(packages: readonly InstalledPackage[], allPlatforms: boolean): Promise<FilesOf> {
  const published = await publishedFiles(packages.filter((one) => !isInstalled(one)));
  const wanted = (file: PackageFile) => allPlatforms || fitsHere(file.path);
  const all = packages.map(async (one) => {
    const files = published.get(one) ?? (await filesBelow(one.directory));
    return [one, files.filter(wanted)] as const;
  });
  return new Map(await Promise.all(all));
}

/** Prebuilt add-ons are by convention in `prebuilds/<platform>-<arch>/`. */
function fitsHere(path: string): boolean {
  const [, platform, arch] = /(?:^|\/)prebuilds\/([a-z0-9]+)-([a-z0-9+]+)\//.exec(path) ?? [];
  if (platform === undefined || arch === undefined) return true;
  return platform === process.platform && arch.split("+").includes(process.arch);
}

async function filesBelow(directory: string, prefix = ""): Promise<PackageFile[]> {
  const entries = await readdir(join(directory, prefix), { withFileTypes: true });
  const files = entries.map(async (entry): Promise<PackageFile[]> => {
    const path = `${prefix}${entry.name}`;
    if (entry.isDirectory()) return path === "node_modules" ? [] : filesBelow(directory, `${path}/`);
    if (!entry.isFile())
      throw new PackageProblem(`${join(directory, path)} is a link or not a file`, "install the package again");
    return [{ path, bytes: (await lstat(join(directory, path))).size }];
  });
  return (await Promise.all(files)).flat();
}

interface PackReport {
  readonly name: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** One call for all packages: npm takes longer to start than to respond. */
async function publishedFiles(packages: readonly InstalledPackage[]): Promise<FilesOf> {
  if (packages.length === 0) return new Map();
  const directories = packages.map(({ directory }) => directory);
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error", ...directories];
  let reports: readonly PackReport[];
  try {
    const windows = process.platform === "win32";
    const { stdout } = await promisify(execFile)(windows ? "npm.cmd" : "npm", args, {
      maxBuffer: 64 * 1_048_576,
      shell: windows,
    });
    reports = JSON.parse(stdout) as readonly PackReport[];
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n").slice(0, 3).join(" ") : String(error);
    throw new PackageProblem(`npm cannot list the files of the packages: ${why}`, "check npm: npm --version", {
      cause: error,
    });
  }
  return new Map(
    packages.map((one, index) => {
      const report = reports[index];
      if (report?.name !== one.name)
        throw new PackageProblem(`npm returned no result for the package ${one.name}`, "check npm: npm --version");
      return [one, report.files.map(({ path, size }) => ({ path, bytes: size }))];
    }),
  );
}
