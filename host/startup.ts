/** What a start decides before anything runs: port, plugins, and the words of a refusal. Pure. */
import type { Plugin } from "@svc/sdk";
import { StartupRefusal } from "./auth/mode.ts";
import type { ConfigFile, Issue } from "./config/file.ts";
import type { HostConfig, PluginsSection } from "./config/host-schema.ts";
import type { Environment } from "./config/paths.ts";
import type { PluginPlan } from "./kernel/kernel.ts";
import { inlineSource, type MissingPlugin, type PluginFinder, type PluginSource } from "./kernel/load.ts";

const DEFAULT_PORT = 18_789;

/** Every issue on a line, and the next step. */
export function configRefusal({ path }: ConfigFile, issues: readonly Issue[]): string {
  const lines = issues.map((issue) => `  ${issue.path || "(file)"}: ${issue.message}`);
  return `the configuration ${path} is not valid:\n${lines.join("\n")}\nNext: correct it, then check it with: svc config validate`;
}

/**
 * Which plugins to load. Order does not matter: the kernel sorts.
 * @param chosen instead of those the configuration names. @param developed runs in the place of one with its id
 */
export function planPlugins(
  finder: PluginFinder,
  plugins: PluginsSection,
  chosen: readonly (Plugin | string)[] | undefined,
  developed?: PluginSource | MissingPlugin,
): PluginPlan {
  const find = (spec: Plugin | string): PluginSource | MissingPlugin =>
    typeof spec === "string" ? finder.find(spec) : inlineSource(spec);
  const named = chosen ?? plugins.use;
  const sources = named ? named.map(find) : finder.bundle();
  const added = chosen ? [] : (plugins.load?.paths ?? []).map(find);
  const disabled = Object.entries(plugins.entries ?? {}).flatMap(([id, { enabled }]) =>
    enabled === false ? [id] : [],
  );
  const all = [...sources, ...added];
  if (!developed) return { sources: all, disabled: new Set(disabled) };
  const own = idOf(developed);
  const others = all.filter((source) => source.origin !== developed.origin && (!own || idOf(source) !== own));
  return { sources: [developed, ...others], disabled: new Set(disabled.filter((id) => id !== own)) };
}

function idOf(source: PluginSource | MissingPlugin): string | undefined {
  return "load" in source ? source.manifest?.id : undefined;
}

/** `SVC_GATEWAY_PORT`, then `gateway.port`, then 18789. @throws StartupRefusal the variable is no port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; it must be a port, 0 to 65535`);
}
