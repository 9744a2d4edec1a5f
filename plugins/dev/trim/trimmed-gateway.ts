/** Plans and writes a trimmed gateway. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { SelectedPlugin } from "@svc/cli";
import type { PluginSource } from "@svc/host/local";
import { createDirectory } from "./directory.ts";
import { type ChosenPlugin, type Contents, ownFiles, type Size } from "./own-files.ts";
import { filesOf, type FilesOf } from "./package-files.ts";
import { createPackageReader, type InstalledPackage, PackageProblem } from "./package-tree.ts";
import { type Placed, placePackages } from "./placement.ts";
import { proveImports } from "./proof.ts";

interface Plan {
  readonly foundation: readonly InstalledPackage[];
  readonly plugins: readonly ChosenPlugin[];
  readonly placed: readonly Placed[];
  /** The size with every plugin of the bundle; absent if the bundle is missing or incomplete. */
  readonly everything: readonly Placed[] | undefined;
  readonly engines: string;
  readonly allPlatforms: boolean;
}

/** Reads packages; writes nothing. @throws PackageProblem */
export function planTrimmed(
  plugins: readonly SelectedPlugin[],
  bundle: readonly PluginSource[],
  allPlatforms: boolean,
): Plan {
  const require = createRequire(import.meta.url);
  const file = require.resolve("@svc/host/package.json");
  const { engines } = require(file) as { engines: { node: string } };
  const cli = dirname(require.resolve("@svc/cli/package.json"));
  const sdk = dirname(createRequire(file).resolve("@svc/sdk/package.json"));
  const read = createPackageReader({ allPlatforms, fallback: { name: "@svc/sdk", directory: sdk } });
  const foundation = [read(cli), read(dirname(file)), read(sdk)];
  const chosen = plugins.map(({ id, source }) => {
    if (!source.manifest) throw fileProblem(id, source.origin);
    const { directory, entry, cli } = source.manifest;
    return { id, package: read(directory), entries: [entry, ...(cli === undefined ? [] : [cli])] };
  });
  const roots = byName([...foundation, ...chosen.map((one) => one.package)]);
  const whole = () => {
    const others = bundle.flatMap(({ manifest }) => (manifest ? [read(manifest.directory)] : []));
    return placePackages(new Map([...others.map((one) => [one.name, one] as const), ...roots]));
  };
  const everything = bundle.length > 0 ? unlessProblem(whole) : undefined;
  return { foundation, plugins: chosen, placed: placePackages(roots), everything, engines: engines.node, allPlatforms };
}

/**
 * The size with every plugin of the bundle; `undefined` if the bundle cannot be read: that alone is no reason to abort.
 */
function unlessProblem<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof PackageProblem) return undefined;
    throw error;
  }
}

function fileProblem(id: string, origin: string): PackageProblem {
  return new PackageProblem(
    `plugin ${id} is the file ${origin}, which does not declare its dependencies`,
    `put the file into a directory with a package.json, or omit the plugin with --plugins`,
  );
}

/** @throws PackageProblem if two different packages have the same name */
function byName(packages: readonly InstalledPackage[]): Map<string, InstalledPackage> {
  const found = new Map<string, InstalledPackage>();
  for (const one of packages) {
    const other = found.get(one.name) ?? one;
    if (other !== one)
      throw new PackageProblem(
        `${other.directory} and ${one.directory} are both named ${one.name}`,
        "omit one of these packages",
      );
    found.set(one.name, one);
  }
  return found;
}

/**
 * Copies the packages, verifies their imports in place, and adds the generated files. A failure leaves nothing behind.
 * @throws OccupiedDirectory; PackageProblem if a plugin cannot be imported there
 */
export async function writeTrimmed(out: string, plan: Plan): Promise<Contents> {
  const { foundation, plugins, placed, everything, engines, allPlatforms } = plan;
  const files = await filesOf(packagesOf(placed), allPlatforms);
  return createDirectory(out, async (directory) => {
    for (const { path, from } of placed)
      await directory.copy(from.directory, files.get(from) ?? [], join("node_modules", path));
    await proveImports(out, plugins);
    const full = everything && (await sizeOfAll(everything, files, allPlatforms));
    const contents: Contents = {
      plugins,
      foundation,
      size: sizeOf(placed, files),
      ...(full ? { full } : {}),
      engines,
      platform: allPlatforms ? "for every system the packages support" : `${process.platform} ${process.arch}`,
    };
    for (const [name, text] of Object.entries(ownFiles(contents))) await directory.write(name, text);
    return contents;
  });
}

function packagesOf(placed: readonly Placed[]): InstalledPackage[] {
  return [...new Set(placed.map(({ from }) => from))];
}

async function sizeOfAll(everything: readonly Placed[], known: FilesOf, allPlatforms: boolean): Promise<Size> {
  const others = packagesOf(everything).filter((one) => !known.has(one));
  return sizeOf(everything, new Map([...known, ...(await filesOf(others, allPlatforms))]));
}

function sizeOf(placed: readonly Placed[], files: FilesOf): Size {
  const bytes = placed.flatMap(({ from }) => files.get(from) ?? []).reduce((sum, file) => sum + file.bytes, 0);
  return { packages: placed.length, bytes };
}
