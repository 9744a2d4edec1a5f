/** Finds plugins by package name and by path, and imports their code. No plugin is named here. */
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isPlugin, lazy, type Plugin, requireDescriptors } from "@svc/sdk";
import { type Manifest, ManifestError, type Placement, readManifest } from "./manifest.ts";
import { sdkModules } from "./sdk-modules.ts";

const ownership = lazy(() => import("./ownership.ts"));
const compilerCode = lazy(() => import("jiti"));

/** A plugin that can be loaded. */
export interface PluginSource {
  /** What named it: a package, a path or `inline`. */
  readonly origin: string;
  /** Tells sources apart: the same plugin from another directory, or placed elsewhere, has another one. */
  readonly key: string;
  /** It came with the gateway. */
  readonly isBundled?: boolean;
  /** The thread or process its code runs in, with so many MiB of heap. Default: the host's own thread. */
  readonly elsewhere?: { readonly placement: Exclude<Placement, "host">; readonly memoryMb: number };
  /** Its code is imported at the start, whether it is needed then or not. */
  readonly isAwake?: boolean;
  /** Known before import for packages. */
  readonly manifest: Manifest | undefined;
  /** What the code says now: a file that has changed since it was imported is read anew. */
  load(): Promise<Plugin>;
  /** What has to be true before its code is run anywhere. @throws Error it is not, and what to do */
  check?(): Promise<void>;
  /** The same source as its package says now. Absent: it has none. */
  again?(): PluginSource | MissingPlugin;
  /** Why the operator's word about a plugin of this id cannot hold for it, or `undefined`. Default: it always can. */
  readonly refuse?: (id: string) => string | undefined;
}

/** A plugin that was asked for and cannot be loaded. */
export interface MissingPlugin {
  readonly origin: string;
  readonly reason: string;
}

export function isLoadable(source: PluginSource | MissingPlugin): source is PluginSource {
  return "load" in source;
}

/** As far as it is known before import; of a missing one what named it. */
export function idOf(source: PluginSource | MissingPlugin): string | undefined {
  return isLoadable(source) ? source.manifest?.id : source.origin;
}

/** The package `svc` (plugins/full): its dependencies are the full bundle. */
export const BUNDLE_PACKAGE = "svc";

/** Imports a module; TypeScript goes through jiti, whose cache is private to the state directory; `false`: it keeps none. */
export async function importModule(file: string, cacheDir: string | false): Promise<unknown> {
  if (!/\.[cm]?ts$/.test(file)) return importVersion(file);
  const { createJiti } = await compilerCode();
  const jiti = createJiti(pathToFileURL(file).href, {
    fsCache: cacheDir,
    moduleCache: false,
    virtualModules: await sdkModules(),
  });
  return jiti.import(file);
}

/** What was imported of each file: its URL by its version. Outlives the gateway, as the runtime's own modules do. */
const imported = new Map<string, Map<string, string>>();

/** Changes with the text. */
function versionOf(file: string): string {
  const { mtimeMs, size } = statSync(file);
  return `${Math.round(mtimeMs * 1_000).toString(36)}-${size.toString(36)}`;
}

/** @throws GatewayError `UNAVAILABLE`: too few files can be opened now; whatever the import throws. */
async function importVersion(file: string): Promise<unknown> {
  requireDescriptors();
  const url = versionedUrl(file);
  try {
    return await import(url);
  } catch (error) {
    // A file that could not be read stays unread under its name.
    if (hasErrno(error)) imported.get(file)?.set(versionOf(file), `${pathToFileURL(file).href}?again=${++attempts}`);
    throw error;
  }
}

let attempts = 0;

/** Whether the system failed, and not the code. */
function hasErrno(error: unknown): boolean {
  return error instanceof Error && "errno" in error;
}

/**
 * The runtime never forgets a module, so only changed code gets a new name.
 * A built plugin is one file: what that file imports relatively is not read anew.
 */
function versionedUrl(file: string): string {
  const version = versionOf(file);
  const versions = imported.get(file) ?? new Map<string, string>();
  imported.set(file, versions);
  const plain = pathToFileURL(file).href;
  const url = versions.get(version) ?? (versions.size === 0 ? plain : `${plain}?version=${version}`);
  versions.set(version, url);
  return url;
}

/** @throws Error its file cannot be read or run, or has no plugin */
export async function importPlugin(file: string, cacheDir: string | false): Promise<Plugin> {
  const { default: plugin } = (await importModule(file, cacheDir)) as { default?: unknown };
  if (!isPlugin(plugin))
    throw new Error(`${file} does not export a plugin; write: export default definePlugin({ ... })`);
  return plugin;
}

/** A plugin handed over as a value. */
export function inlineSource(plugin: Plugin): PluginSource {
  return { origin: "inline", key: `inline ${plugin.id}`, manifest: undefined, load: () => Promise.resolve(plugin) };
}

export interface PluginFinder {
  /** The packages of the full bundle; empty in a trimmed install. */
  bundle(): readonly (PluginSource | MissingPlugin)[];
  /** One plugin by id, package name or path (starting with `.`, `/` or `~`, relative to the configuration's directory). */
  find(spec: string): PluginSource | MissingPlugin;
}

export interface FinderOptions {
  /** Directory that relative paths and `node_modules` of a user are looked up in. */
  readonly configDir: string;
  readonly cacheDir: string;
  readonly home: string;
}

export function createPluginFinder({ configDir, cacheDir, home }: FinderOptions): PluginFinder {
  const here = createRequire(import.meta.url);
  const user = createRequire(join(configDir, "package.json"));

  function packageDirectory(name: string, from: NodeJS.Require[] = [here, user]): string | undefined {
    for (const require of from) {
      try {
        return dirname(require.resolve(`${name}/package.json`));
      } catch {
        // not installed there
      }
    }
    return undefined;
  }

  /** @param place the file, or the directory it belongs to. What came with the gateway is as much the operator's as the gateway itself. */
  function codeOf(place: string, file: string, isBundled: boolean): Pick<PluginSource, "load" | "check"> {
    if (isBundled) return { load: () => importPlugin(file, cacheDir) };
    const check = async () => (await ownership()).refuseForeignCode(place, { configDir });
    return {
      check,
      async load() {
        await check();
        return importPlugin(file, cacheDir);
      },
    };
  }

  /** @returns `undefined` for a package that is no plugin. */
  function pluginIn(directory: string, origin: string, isBundled = false): PluginSource | MissingPlugin | undefined {
    try {
      const manifest = readManifest(directory);
      return (
        manifest && {
          origin,
          key: directory,
          isBundled,
          manifest,
          ...codeOf(directory, join(directory, manifest.entry), isBundled),
          again: () => fromDirectory(directory, origin, isBundled),
        }
      );
    } catch (error) {
      return {
        origin,
        reason:
          error instanceof ManifestError
            ? error.message
            : `cannot read ${directory}/package.json; for a plugin in a single file, name that file`,
      };
    }
  }

  function fromDirectory(directory: string, origin: string, isBundled = false): PluginSource | MissingPlugin {
    const reason = `${directory}/package.json has no "svc.entry", so it is not a plugin`;
    return pluginIn(directory, origin, isBundled) ?? { origin, reason };
  }

  function fromPath(spec: string): PluginSource | MissingPlugin {
    const path = spec.startsWith("~/") ? join(home, spec.slice(2)) : isAbsolute(spec) ? spec : resolve(configDir, spec);
    if (!existsSync(path)) return { origin: spec, reason: `${path} does not exist` };
    if (statSync(path).isDirectory()) return fromDirectory(path, spec);
    return { origin: spec, key: path, manifest: undefined, ...codeOf(path, path, false) };
  }

  function bundle(): readonly (PluginSource | MissingPlugin)[] {
    const directory = packageDirectory(BUNDLE_PACKAGE, [here]);
    if (!directory) return [];
    const require = createRequire(join(directory, "package.json"));
    const { dependencies = {} } = require("./package.json") as { dependencies?: Record<string, string> };
    return Object.keys(dependencies).flatMap((name) => {
      const found = packageDirectory(name, [require]);
      if (!found) return [{ origin: name, reason: `package ${name} is not installed; run: npm install` }];
      return pluginIn(found, name, true) ?? []; // the host itself is one of them
    });
  }

  let known: readonly (PluginSource | MissingPlugin)[] | undefined;
  function find(spec: string): PluginSource | MissingPlugin {
    if (/^(\.|\/|~\/)/.test(spec)) return fromPath(spec);
    known ??= bundle();
    const bundled = known.find((source) => "load" in source && source.manifest?.id === spec);
    if (bundled) return bundled;
    for (const name of [spec, `@svc/plugin-${spec}`]) {
      const directory = packageDirectory(name);
      if (directory) return fromDirectory(directory, name);
    }
    return {
      origin: spec,
      reason: `no plugin or package "${spec}" is installed; next: npm install <its package>, or give its path`,
    };
  }

  return { bundle: () => (known ??= bundle()), find };
}
