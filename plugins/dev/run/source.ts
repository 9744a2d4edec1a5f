/**
 * The plugin that `svc dev` runs. Each access locates and reads the plugin again, from TypeScript source if available.
 */
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
  /** Real path of the package directory or file; identifies the plugin while its id is unknown. */
  readonly path: string;
  /** Directory of its files. */
  readonly root: string;
  /** The package in its current state. */
  source(): PluginSource | MissingPlugin;
  /** The last error of the plugin's code since the previous call; reports contain only the message of an error. */
  takeError(): unknown;
}

export interface DevelopedOptions {
  readonly paths: Parameters<typeof createPluginFinder>[0];
  /** Makes the runtime forget the modules of the plugin before each import. */
  readonly forget: (root: string) => () => void;
}

/** @param place must exist */
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

/** Choice: if the built entry has a source file of the same name next to package.json, that file runs as saved. */
export function sourceEntry({ entry, directory }: Manifest): string {
  const [, name] = /^(?:\.\/)?dist\/(.+)\.js$/.exec(entry) ?? [];
  const source = `./${name}.ts`;
  return name !== undefined && existsSync(join(directory, source)) ? source : entry;
}

/** The plugin, wrapped so that errors of its `setup` and of its starts are passed to `remember`. */
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
