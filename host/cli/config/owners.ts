/** Who owns which section, as the plugins say that a start would load. Runs none of them. */
import type { Plugin } from "@svc/sdk";
import { resolveAuth, startRefusal } from "../../auth/mode.ts";
import { readKeptToken } from "../../auth/secret.ts";
import type { ConfigFile, Issue } from "../../config/file.ts";
import { type Paths, resolvePaths } from "../../config/paths.ts";
import { hostConfig, type SectionOwner } from "../../config/sections.ts";
import { webhookSettings } from "../../webhooks/settings.ts";
import { plannedPlugins } from "../planned-plugins.ts";

export interface Owners {
  /** Sections of the plugins that would run; of the disabled ones without their schema. */
  readonly owners: readonly SectionOwner[];
  /** The same with every schema there is. */
  readonly installed: readonly SectionOwner[];
  /** Plugins that are asked for and are not there. */
  readonly missing: readonly Issue[];
}

/** Imports the plugins that would be loaded; one that cannot be imported is left to `svc plugins list`. */
export async function loadOwners(file: ConfigFile, paths: Paths): Promise<Owners> {
  const { sources, disabled } = plannedPlugins(file, paths);
  const plugins = await Promise.all(
    sources.map(async (source): Promise<Plugin[]> => {
      if (!("load" in source)) return [];
      return source.load().then(
        (plugin) => [plugin],
        () => [],
      );
    }),
  );
  const installed = plugins.flat().flatMap(sectionsOf);
  return {
    installed,
    owners: installed.map((owner) => (disabled.has(owner.plugin) ? { ...owner, schema: undefined } : owner)),
    missing: sources.flatMap((source) => ("load" in source ? [] : [{ path: "plugins", message: source.reason }])),
  };
}

/** The plugin's own section and its further ones. */
function sectionsOf({ id, section, config, sections }: Plugin): SectionOwner[] {
  const own = config ? [{ section: section ?? id, plugin: id, schema: config }] : [];
  return [...own, ...Object.entries(sections ?? {}).map(([key, schema]) => ({ section: key, plugin: id, schema }))];
}

/** Why a gateway that is started from here would refuse this file, or `undefined`. Makes no token. */
export function refusalHere(file: ConfigFile): Issue | undefined {
  const { config, issues } = hostConfig(file);
  if (issues.length > 0) return undefined; // told key by key
  const message = startRefusal(config.gateway, process.env);
  if (message !== undefined) return { path: "gateway", message };
  const { credentialsDir, configDir } = resolvePaths();
  const auth = resolveAuth(config.gateway, process.env, () => readKeptToken(credentialsDir) ?? "");
  return webhookSettings(config.hooks, { gatewayToken: auth.token, configDir }).issues[0];
}
