/** Finds the package of an adapter and makes the adapter. The only file that imports code of adapters. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Adapter, Logger as AdapterLogger } from "chat";
import { ADAPTERS, type CatalogAdapter } from "chat/adapters";
import { GatewayError, lazy, messageOf } from "@svc/sdk";
import type { Settings } from "./config.ts";
import { redacted } from "./failures.ts";

/** Adapters of the catalogue that connect a network, by slug. */
export const CATALOGUE: ReadonlyMap<string, CatalogAdapter> = new Map(
  Object.values<CatalogAdapter>(ADAPTERS).flatMap((one) => (one.type === "platform" ? [[one.slug, one] as const] : [])),
);

const installCommand = (directory: string, packages: readonly string[]) =>
  `npm install --ignore-scripts --prefix ${/\s/.test(directory) ? JSON.stringify(directory) : directory} ${packages.join(" ")}`;

/** A fault that only the owner can remove: the account is not run again until something changes. */
function unusable(text: string): never {
  throw new GatewayError("NOT_LINKED", text);
}

/**
 * @param directory its `node_modules` precedes the packages that the plugin itself finds
 * @throws GatewayError `NOT_LINKED`: the package is not installed or has no such factory, or the factory refuses the settings
 */
export async function makeAdapter(settings: Settings, directory: string, logger: AdapterLogger): Promise<Adapter> {
  const { adapter: name } = settings;
  const entry = CATALOGUE.get(name);
  const packageName = entry?.packageName ?? name;
  const loaded = await load(directory, packageName, entry?.importPath ?? packageName).catch((error: unknown) =>
    unusable(`the package ${packageName} cannot be loaded: ${messageOf(error)}`),
  );
  if (!loaded) {
    const command = installCommand(directory, [packageName, ...(entry?.peerDeps ?? [])]);
    return unusable(`the package ${packageName}, or one that it needs, is not installed; next: ${command}`);
  }
  const factory = entry?.factoryExport ?? settings.factory;
  const make = factory === undefined ? undefined : loaded[factory];
  if (typeof make !== "function") {
    const names = Object.keys(loaded).filter((one) => one.startsWith("create"));
    return unusable(`${packageName} has no factory "${factory ?? ""}"; next: set factory, e.g. ${names.join(" or ")}`);
  }
  try {
    return (await make({ ...optionsOf(settings), logger })) as Adapter; // the catalogue and the owner say so
  } catch (error) {
    return unusable(`${packageName} refuses its options: ${redacted(messageOf(error), settings)}; next: change them`);
  }
}

/** What the factory gets: the secret `a.b` is the option `b` in the option `a`. */
function optionsOf({ options, credentials }: Settings): object {
  const all: Record<string, unknown> = structuredClone(options);
  for (const [name, secret] of Object.entries(credentials)) {
    const [last = "", ...outer] = name.split(".").toReversed();
    let place = all;
    for (const key of outer.toReversed()) {
      if (!Object.hasOwn(place, key)) place[key] = {};
      place = place[key] as typeof place; // else the next line throws, and the account says so
    }
    place[last] = secret;
  }
  return all;
}

type Exports = Readonly<Record<string, unknown>>;

/** @returns `undefined`: not installed, or a package that it needs is not */
async function load(directory: string, packageName: string, path: string): Promise<Exports | undefined> {
  try {
    const file = await entryOf(join(directory, "node_modules", packageName), `.${path.slice(packageName.length)}`);
    const code = lazy(() => import(file ?? path) as Promise<Exports>);
    return await code();
  } catch (error) {
    if (Object(error).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * The file that `import` finds for a path of the package. Node resolves packages only relative to the importing file.
 * @param path `.` or `./<path>`
 * @returns its URL; `undefined`: there is no such package
 */
async function entryOf(directory: string, path: string): Promise<string | undefined> {
  const text = await readFile(join(directory, "package.json"), "utf8").catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(String(Object(error).code))) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { exports, main = "index.js" } = JSON.parse(text) as Exports;
  const hasPaths = Object.keys(Object(exports)).some((key) => key.startsWith("."));
  let target: unknown = exports === undefined ? main : hasPaths ? Object(exports)[path] : exports;
  while (typeof target === "object" && target !== null)
    target = Object.entries(target).find(([condition]) => /^(?:import|node|default|\d+)$/.test(condition))?.[1];
  return pathToFileURL(join(directory, String(target))).href;
}

/** Secrets that the catalogue demands, and that neither the settings nor the environment seem to have. */
export function missingSecrets({ adapter, options, credentials }: Settings, env: NodeJS.ProcessEnv): string[] {
  // The catalogue names variables only. The option of `X_WEBHOOK_SECRET` is `webhookSecret` in the adapters that we know.
  const given = Object.keys({ ...options, ...credentials }).map((name) =>
    name.replace(/\B[A-Z]/g, "_$&").toUpperCase(),
  );
  const required = CATALOGUE.get(adapter)?.env.required ?? [];
  return required
    .filter(({ key, secret, aliases = [] }) => secret && ![key, ...aliases].some((one) => env[one]))
    .map(({ key }) => key)
    .filter((key) => !given.some((name) => key === name || key.endsWith(`_${name}`)));
}
