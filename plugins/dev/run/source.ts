/** The plugin that `svc dev` runs: found and read anew each time it is asked for, from its TypeScript where there is any. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  createPluginFinder,
  importPlugin,
  type Manifest,
  type MissingPlugin,
  type PluginSource,
} from "@svc/host/local";
import type { Plugin, PluginGateway } from "@svc/sdk";

export interface Developed {
  /** Real path of the package directory or of the file; what names the plugin while its id is not known. */
  readonly path: string;
  /** Directory of its files. */
  readonly root: string;
  /** The package as it is now. */
  source(): PluginSource | MissingPlugin;
  /** What its code threw since this was last asked; reports hold the words only. */
  takeError(): unknown;
}

export interface DevelopedOptions {
  readonly paths: Parameters<typeof createPluginFinder>[0];
  /** Makes the runtime forget its modules, before each import. */
  readonly forget: (root: string) => () => void;
}

/** @param place must be there */
export function createDeveloped(place: string, { paths, forget }: DevelopedOptions): Developed {
  const path = realpathSync(place);
  const root = statSync(path).isDirectory() ? path : dirname(path);
  const finder = createPluginFinder(paths);
  const forgetModules = forget(root);
  let thrown: unknown;

  async function load(file: string): Promise<Plugin> {
    forgetModules();
    try {
      return remembering(await importPlugin(file, paths.cacheDir), (error) => (thrown = error));
    } catch (error) {
      thrown = error;
      throw error;
    }
  }

  return {
    path,
    root,
    source() {
      const found = finder.find(path);
      if (!("load" in found)) return found;
      const file = found.manifest ? join(found.manifest.directory, sourceEntry(found.manifest)) : path;
      return { ...found, isAwake: true, load: () => load(file) };
    },
    takeError() {
      const error = thrown;
      thrown = undefined;
      return error;
    },
  };
}

/** Choice: what is built from a file of the same name beside package.json is run from that file, as it is saved. */
export function sourceEntry({ entry, directory }: Manifest): string {
  const [, name] = /^(?:\.\/)?dist\/(.+)\.js$/.exec(entry) ?? [];
  const source = `./${name}.ts`;
  return name !== undefined && existsSync(join(directory, source)) ? source : entry;
}

/** The same plugin; what its `setup` and its starts throw is told to `remember`. */
function remembering(plugin: Plugin, remember: (error: unknown) => void): Plugin {
  const watched = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      remember(error);
      throw error;
    }
  };
  const watchedGateway = (gateway: PluginGateway) =>
    new Proxy(gateway, {
      get(target, key) {
        if (key !== "start") return Reflect.get(target, key) as unknown;
        return (begin: Parameters<PluginGateway["start"]>[0]) => target.start(() => watched(begin));
      },
    });
  return { ...plugin, setup: (gateway) => watched(() => plugin.setup(watchedGateway(gateway))) };
}
