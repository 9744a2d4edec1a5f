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
 * Choice: installed plugins run beside `plugins.use`; an id that the bundle or the configuration has is never an installed one's.
 * @param installed not looked at when `chosen` is given
 */
export function planPlugins(
  finder: PluginFinder,
  plugins: PluginsSection,
  chosen: readonly (Plugin | string)[] | undefined,
  installed: readonly (PluginSource | MissingPlugin)[],
): PluginPlan {
  const others = chosen ? [] : installed;
  const find = (spec: Plugin | string): PluginSource | MissingPlugin => {
    if (typeof spec !== "string") return inlineSource(spec);
    const found = finder.find(spec);
    return "load" in found ? found : (others.find((one) => idOf(one) === spec) ?? found);
  };
  const named = chosen ?? plugins.use;
  const sources = named ? named.map(find) : finder.bundle();
  const added = chosen ? [] : (plugins.load?.paths ?? []).map(find);
  const disabled = Object.entries(plugins.entries ?? {}).flatMap(([id, { enabled }]) =>
    enabled === false ? [id] : [],
  );
  const own = [...sources, ...added];
  return { sources: [...own, ...besideThem(others, own, finder)], disabled: new Set(disabled) };
}

/** Installed plugins that are not named anyway; those whose id is taken as what they are: blocked. */
function besideThem(
  installed: readonly (PluginSource | MissingPlugin)[],
  own: readonly (PluginSource | MissingPlugin)[],
  finder: PluginFinder,
): readonly (PluginSource | MissingPlugin)[] {
  return installed
    .filter((one) => !own.includes(one))
    .map((one) => {
      const id = idOf(one);
      const holder = [...own, ...finder.bundle()].find((other) => "load" in other && idOf(other) === id);
      if (id === undefined || !holder) return one;
      const reason = `its id "${id}" is that of ${holder.origin}, which goes first; next: svc plugins remove ${id}`;
      return { origin: `${id} (${one.origin})`, reason };
    });
}

function idOf(source: PluginSource | MissingPlugin): string | undefined {
  return "load" in source ? source.manifest?.id : source.origin;
}

/** `SVC_GATEWAY_PORT`, then `gateway.port`, then 18789. @throws StartupRefusal the variable is no port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; it must be a port, 0 to 65535`);
}
