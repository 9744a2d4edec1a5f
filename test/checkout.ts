/** Paths of the checkout, for compiled tests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function findRoot(directory: string): string {
  const file = join(directory, "package.json");
  if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).workspaces) return directory;
  return findRoot(dirname(directory));
}

/** The directory of the root package.json. */
export const root = findRoot(dirname(fileURLToPath(import.meta.url)));

/** Names of the packages of the full bundle that are plugins, sorted. */
export function bundledPlugins(): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, "plugins/full/package.json"), "utf8"));
  return Object.keys(dependencies)
    .filter((name) => {
      const file = join(root, "node_modules", name, "package.json");
      return JSON.parse(readFileSync(file, "utf8")).svc?.entry !== undefined;
    })
    .sort();
}

/** A plugin below `plugins` that contributes channels. */
export interface ChannelPlugin {
  readonly plugin: string;
  readonly channels: readonly string[];
  /** Part of the full bundle. */
  readonly isBundled: boolean;
}

/** Sorted by the id of the plugin. */
export function channelPlugins(): ChannelPlugin[] {
  const bundled = bundledPlugins();
  return readdirSync(join(root, "plugins"))
    .map((plugin) => {
      const { svc } = JSON.parse(readFileSync(join(root, "plugins", plugin, "package.json"), "utf8"));
      const isBundled = bundled.includes(`@svc/plugin-${plugin}`);
      return { plugin, channels: (svc?.contributes?.channel ?? []) as readonly string[], isBundled };
    })
    .filter(({ channels }) => channels.length > 0)
    .sort((one, other) => one.plugin.localeCompare(other.plugin));
}
