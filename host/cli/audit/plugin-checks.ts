/** Checks of third-party plugins' rights, and the checks that plugins add. */
import { join } from "node:path";
import { importModule, itemsOf, summaryOf } from "@svc/host/local";
import { commandText, type SecurityCheck, setCommand } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import type { HostCheck, HostHit, HostView, PlacedPlugin } from "./view.ts";

export const PLUGIN_CHECKS: readonly HostCheck[] = [
  {
    id: "plugins.unconfined",
    severity: "warning",
    why: "It can read every secret and file that the gateway can read, regardless of its declared permissions.",
    find: ({ plugins }) =>
      foreign(plugins)
        .filter(({ placement }) => placement !== "process")
        .map(unconfined),
  },
  {
    id: "plugins.wide-permissions",
    severity: "info",
    why: "A flaw in that plugin can do everything its permissions allow.",
    find: ({ plugins }) =>
      foreign(plugins)
        .filter(({ placement }) => placement === "process")
        .flatMap(wide),
  },
];

function foreign(plugins: readonly PlacedPlugin[]): readonly PlacedPlugin[] {
  return plugins.filter(({ isBundled }) => isBundled !== true);
}

function unconfined({ manifest, origin }: PlacedPlugin): HostHit {
  const id = manifest?.id ?? origin;
  const mayMove = manifest?.isolation?.supports.includes("process") === true;
  return {
    about: id,
    message: `Plugin ${id} did not come with the gateway and runs with all rights of the gateway.`,
    fix: mayMove
      ? setCommand(["plugins", "entries", id, "run"], "process")
      : commandText(["svc", "plugins", "inspect", id]),
  };
}

/** Wide permissions: programs, the whole network, files to write, or the admin scope. */
const WIDE = /^(?:exec |net \*|writes |calls operator\.admin$)/;

function wide({ manifest }: PlacedPlugin): readonly HostHit[] {
  const items = manifest ? itemsOf(manifest, []).filter((item) => WIDE.test(item)) : [];
  if (!manifest || items.length === 0) return [];
  const message = `Plugin ${manifest.id} did not come with the gateway and ${summaryOf(items).join("; ")}.`;
  return [{ about: manifest.id, message, fix: commandText(["svc", "plugins", "inspect", manifest.id]) }];
}

/** A check that did not run. */
export interface Skipped {
  /** Id of the check, or of the plugin whose checks could not be read. */
  readonly id: string;
  readonly reason: string;
}

export interface LoadedChecks {
  readonly checks: readonly SecurityCheck[];
  readonly skipped: readonly Skipped[];
}

/** The checks of the plugins a start would load. Imports the check files; does not run the plugins. */
export async function loadChecks({ plugins, paths }: HostView): Promise<LoadedChecks> {
  const found = await Promise.all(
    plugins.map(async (plugin): Promise<LoadedChecks> => {
      try {
        return { checks: await readChecks(plugin, paths.cacheDir), skipped: [] };
      } catch (error) {
        const id = plugin.manifest?.id ?? plugin.origin;
        return { checks: [], skipped: [{ id, reason: `its checks cannot be read: ${messageOf(error)}` }] };
      }
    }),
  );
  return { checks: found.flatMap(({ checks }) => checks), skipped: found.flatMap(({ skipped }) => skipped) };
}

/** @throws Error when the file exports no checks, or a check whose id does not begin with the plugin's id */
async function readChecks({ manifest, check }: PlacedPlugin, cacheDir: string): Promise<readonly SecurityCheck[]> {
  if (manifest?.security === undefined) return [];
  await check?.();
  const { id, directory, security } = manifest;
  const { default: checks } = (await importModule(join(directory, security), cacheDir)) as { default?: unknown };
  if (!Array.isArray(checks))
    throw new Error(`the default export of ${security} is not a list made with defineSecurityChecks`);
  for (const one of checks as readonly Partial<SecurityCheck>[])
    if (typeof one.id !== "string" || !one.id.startsWith(`${id}.`))
      throw new Error(`the id of each check must begin with "${id}.", but one is "${String(one.id)}"`);
  return checks as readonly SecurityCheck[];
}
