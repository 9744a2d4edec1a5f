/** `svc trim`: writes a directory that runs by itself, with the host, the plugin API, chosen plugins and what they need. */
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { createPluginFinder, type PluginFinder } from "../../kernel/load.ts";
import { bundleProfiles } from "../../kernel/profiles.ts";
import { HOST_PACKAGE } from "../../version.ts";
import { EXIT, type Output, refuse } from "../output.ts";
import { pluginsSection } from "../planned-plugins.ts";
import { type SelectedPlugin, selectPlugins, type Wanted } from "../plugins/selection.ts";
import { createDirectory, OccupiedDirectory } from "./directory.ts";
import { type Contents, ownFiles, type Size, sizeText } from "./own-files.ts";
import { filesOf, type FilesOf } from "./package-files.ts";
import { createPackageReader, type InstalledPackage, PackageProblem } from "./package-tree.ts";
import { type Placed, placePackages } from "./placement.ts";
import { proveImports } from "./proof.ts";

export interface TrimFlags {
  readonly out: string;
  readonly profile?: string;
  readonly plugins?: string;
  readonly withRequirements?: boolean;
  readonly allPlatforms?: boolean;
}

/** @returns the exit code */
export async function trim(flags: TrimFlags, output: Output): Promise<number> {
  const paths = resolvePaths();
  const section = pluginsSection(await readConfigFile(paths.configPath, process.env));
  const finder = createPluginFinder({ configDir: paths.configDir, cacheDir: paths.cacheDir, home: paths.home });
  const profiles = bundleProfiles();
  const selection = await selectPlugins(wantedBy(flags), { section, finder, profiles, command: commandLine(flags) });
  if (typeof selection === "string") return refuse(selection, output);
  try {
    const trimmed = await plan(selection.plugins, finder, flags.allPlatforms ?? false);
    const out = resolve(flags.out);
    await write(out, trimmed);
    return tell(out, { ...trimmed.contents, added: selection.added }, output);
  } catch (error) {
    if (error instanceof PackageProblem || error instanceof OccupiedDirectory) return refuse(error.message, output);
    throw error;
  }
}

function wantedBy({ profile, plugins, withRequirements = false }: TrimFlags): Wanted {
  const names = plugins?.split(",").flatMap((name) => name.trim() || []) ?? [];
  return { profile, names, withRequirements };
}

/** For the next step: what was typed. */
function commandLine({ out, profile, plugins }: TrimFlags): string {
  const options = [...(profile ? ["--profile", profile] : []), ...(plugins ? ["--plugins", plugins] : [])];
  return ["svc trim --out", out, ...options].join(" ");
}

interface Trimmed {
  readonly placed: readonly Placed[];
  readonly files: FilesOf;
  readonly contents: Contents;
}

/** Reads all there is to know before anything is written. @throws PackageProblem */
async function plan(plugins: readonly SelectedPlugin[], finder: PluginFinder, allPlatforms: boolean): Promise<Trimmed> {
  if (!HOST_PACKAGE) throw new PackageProblem("the host was taken out of its package", "install @svc/host");
  const { directory: host, engines } = HOST_PACKAGE;
  const sdk = dirname(createRequire(join(host, "package.json")).resolve("@svc/sdk/package.json"));
  const read = createPackageReader({ allPlatforms, fallback: { name: "@svc/sdk", directory: sdk } });
  const foundation = [read(host), read(sdk)];
  const chosen = plugins.map(({ id, source }) => {
    const directory = source.manifest?.directory;
    if (directory === undefined) throw fileProblem(id, source.origin);
    return { id, package: read(directory) };
  });
  const bundle = finder.bundle().flatMap((source) => ("load" in source && source.manifest ? [source.manifest] : []));
  const placed = placePackages(byName([...foundation, ...chosen.map((one) => one.package)]));
  const everything = placePackages(
    byName([...foundation, ...chosen.map((one) => one.package), ...bundle.map(({ directory }) => read(directory))]),
  );
  const files = await filesOf([...new Set(everything.map(({ from }) => from))], allPlatforms);
  const contents: Contents = {
    plugins: chosen,
    foundation,
    size: sizeOf(placed, files),
    ...(bundle.length > 0 ? { full: sizeOf(everything, files) } : {}),
    engines,
    platform: allPlatforms ? "for every system the packages have them for" : `${process.platform} ${process.arch}`,
  };
  return { placed, files, contents };
}

function fileProblem(id: string, origin: string): PackageProblem {
  return new PackageProblem(
    `plugin ${id} is the file ${origin}, which does not say what it needs`,
    `give it a directory with a package.json, or leave it out with --plugins`,
  );
}

/** @throws PackageProblem two different packages have one name */
function byName(packages: readonly InstalledPackage[]): Map<string, InstalledPackage> {
  const found = new Map<string, InstalledPackage>();
  for (const one of packages) {
    const other = found.get(one.name) ?? one;
    if (other !== one)
      throw new PackageProblem(`${other.directory} and ${one.directory} are both called ${one.name}`, "leave one out");
    found.set(one.name, one);
  }
  return found;
}

function sizeOf(placed: readonly Placed[], files: FilesOf): Size {
  const bytes = placed.flatMap(({ from }) => files.get(from) ?? []).reduce((sum, file) => sum + file.bytes, 0);
  return { packages: placed.length, bytes };
}

/** @throws OccupiedDirectory; PackageProblem when a plugin cannot be imported there. Nothing is left behind then */
async function write(out: string, { placed, files, contents }: Trimmed): Promise<void> {
  await createDirectory(out, async (directory) => {
    for (const { path, from } of placed)
      await directory.copy(from.directory, files.get(from) ?? [], join("node_modules", path));
    for (const [name, text] of Object.entries(ownFiles(contents))) await directory.write(name, text);
    await proveImports(out, contents.plugins);
  });
}

function tell(out: string, { plugins, size, full, added }: Contents & { added: readonly string[] }, output: Output) {
  const ids = plugins.map(({ id }) => id);
  const start = `node ${join(out, "svc.js")} gateway run`;
  if (output.json) {
    output.print({ out, plugins: ids, added, size, full: full ?? null, start });
    return EXIT.ok;
  }
  const lines = [
    `${out}: ${sizeText(size)}${full ? ` (every plugin of the bundle: ${sizeText(full)})` : ""}`,
    `Plugins: ${ids.join(", ")}`,
    ...(added.length > 0 ? [`Added, because others need them: ${added.join(", ")}`] : []),
    `Next: ${start}`,
  ];
  output.print(lines.join("\n"));
  return EXIT.ok;
}
