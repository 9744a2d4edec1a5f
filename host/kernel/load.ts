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
  /** The configured name: a package, a path or `inline`. */
  readonly origin: string;
  /** Identifies the source: it differs when the same plugin comes from another directory or has another placement. */
  readonly key: string;
  /** Whether it is part of the bundle. */
  readonly isBundled?: boolean;
  /** The thread or process its code runs in, and its heap limit in MiB. Default: the host's own thread. */
  readonly elsewhere?: { readonly placement: Exclude<Placement, "host">; readonly memoryMb: number };
  /** Whether its code is imported at the start even if it could sleep. */
  readonly isAwake?: boolean;
  /** `undefined` for a plugin without a package. */
  readonly manifest: Manifest | undefined;
  /** Imports the code; a file that changed since its last import is read again. */
  load(): Promise<Plugin>;
  /** Checks that its code may be run, in any placement. @throws Error why not, with the next step */
  check?(): Promise<void>;
  /** The same source, read again from its package. Absent: it has no package. */
  again?(): PluginSource | MissingPlugin;
  /** Why the operator's placement for the plugin with this id cannot be applied to this source, or `undefined`. Default: it always can. */
  readonly refuse?: (id: string) => string | undefined;
}

/** A configured plugin that cannot be loaded. */
export interface MissingPlugin {
  readonly origin: string;
  readonly reason: string;
}

export function isLoadable(source: PluginSource | MissingPlugin): source is PluginSource {
  return "load" in source;
}

/** The plugin id if it is known before import; for a missing plugin its origin. */
export function idOf(source: PluginSource | MissingPlugin): string | undefined {
  return isLoadable(source) ? source.manifest?.id : source.origin;
}

/** The package `svc` (plugins/full): its dependencies are the full bundle. */
export const BUNDLE_PACKAGE = "svc";

/** Imports a module; TypeScript through jiti. @param cacheDir private directory for compiled TypeScript; `false`: no cache */
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

/** Import URLs of each file, by version. Outlives the gateway, like the runtime's module cache. */
const imported = new Map<string, Map<string, string>>();

/** Changes with the modification time and size of the file. */
function versionOf(file: string): string {
  const { mtimeMs, size } = statSync(file);
  return `${Math.round(mtimeMs * 1_000).toString(36)}-${size.toString(36)}`;
}

/** @throws GatewayError `UNAVAILABLE` too few file descriptors are free; else what the import throws */
async function importVersion(file: string): Promise<unknown> {
  requireDescriptors();
  const url = versionedUrl(file);
  try {
    return await import(url);
  } catch (error) {
    // The runtime caches a failed read under this URL, so the next attempt needs another one.
    if (hasErrno(error)) imported.get(file)?.set(versionOf(file), `${pathToFileURL(file).href}?again=${++attempts}`);
    throw error;
  }
}

let attempts = 0;

/** Whether the operating system failed, not the code. */
function hasErrno(error: unknown): boolean {
  return error instanceof Error && "errno" in error;
}

/**
 * The runtime never unloads a module, so only changed code gets a new URL.
 * A built plugin is one file: modules it imports by relative path are not read again.
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

/** @throws Error the file cannot be read or run, or exports no plugin */
export async function importPlugin(file: string, cacheDir: string | false): Promise<Plugin> {
  const { default: plugin } = (await importModule(file, cacheDir)) as { default?: unknown };
  if (!isPlugin(plugin))
    throw new Error(`${file} does not export a plugin; write: export default definePlugin({ ... })`);
  return plugin;
}

/** Source of a plugin passed as a value. */
export function inlineSource(plugin: Plugin): PluginSource {
  return { origin: "inline", key: `inline ${plugin.id}`, manifest: undefined, load: () => Promise.resolve(plugin) };
}

export interface PluginFinder {
  /** The plugins of the full bundle; empty in a trimmed installation. */
  bundle(): readonly (PluginSource | MissingPlugin)[];
  /** Finds one plugin by id, package name or path (starting with `.`, `/` or `~/`; relative to the configuration's directory). */
  find(spec: string): PluginSource | MissingPlugin;
}

export interface FinderOptions {
  /** Base directory of relative paths and of the user's `node_modules`. */
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

  /** @param place the file or its package directory. @param isBundled skips the ownership check: bundled code is trusted like the gateway itself */
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

  /** @returns `undefined` for a package without a plugin */
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
