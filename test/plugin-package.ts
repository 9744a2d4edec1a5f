/** Plugin packages for tests: written to a directory, packed, or published. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "tar";

export interface PluginPackage {
  readonly name: string;
  readonly version?: string;
  /** Keys of `svc` in its package.json; `id`, `api` and `entry` have defaults. `undefined` in `package.svc`: not a plugin. */
  readonly svc?: Readonly<Record<string, unknown>>;
  /** Code of its entry. Default: a plugin that serves `<id>.version`. */
  readonly code?: string;
  /** Further files. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further keys of its package.json. */
  readonly package?: Readonly<Record<string, unknown>>;
}

/** The id of the package: that of its manifest, else its name without the scope. */
export function idOf({ name, svc }: Pick<PluginPackage, "name" | "svc">): string {
  const id = svc?.["id"];
  return typeof id === "string" ? id : name.replace(/^@[^/]*\//, "");
}

/** A plugin that serves `<id>.version`. @param setup further lines of its `setup` */
export function pluginCode(id: string, version: string, setup = ""): string {
  return `import { defineContract, definePlugin, Type } from "@svc/sdk";
const contract = defineContract("${id}", {
  version: {
    summary: "Its version",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({ version: Type.String() }),
  },
});
export default definePlugin({
  id: "${id}",
  api: "^1.0.0",
  setup(gateway) {
    ${setup}
    gateway.serve(contract, { version: () => ({ version: "${version}" }) });
  },
});
`;
}

/** Its files by path. */
export function filesOf(plugin: PluginPackage): Record<string, string> {
  const { name, version = "1.0.0", svc = {}, code, files = {} } = plugin;
  const id = idOf(plugin);
  const manifest = {
    name,
    version,
    type: "module",
    peerDependencies: { "@svc/sdk": "^1.0.0" },
    svc: { id, api: "^1.0.0", entry: "./plugin.js", namespaces: [id], ...svc },
    ...plugin.package,
  };
  return { "package.json": JSON.stringify(manifest, null, 2), "plugin.js": code ?? pluginCode(id, version), ...files };
}

/** @returns `directory`, with the package in it */
export async function writePackage(directory: string, plugin: PluginPackage): Promise<string> {
  for (const [path, text] of Object.entries(filesOf(plugin))) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return directory;
}

/** Packs the package like `npm pack`. @returns the path of the archive */
export async function packPackage(directory: string, plugin: PluginPackage): Promise<string> {
  await writePackage(join(directory, "package"), plugin);
  const file = `${directory}.tgz`;
  await create({ file, gzip: true, cwd: directory, portable: true }, ["package"]);
  return file;
}
