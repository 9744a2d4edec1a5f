/** Takes what a plugin contributes out of a running gateway, so that a contract suite can drive it by itself. */
import type { Plugin, PluginGateway } from "../../plugin.ts";
import type { ExtensionPoint } from "../../service.ts";
import { testGateway, type TestGatewayOptions } from "../test-gateway.ts";
import type { ContractContext } from "./context.ts";

/** What runs beside the plugin. */
export interface ContributionOptions extends Pick<TestGatewayOptions, "config" | "gateway"> {
  readonly plugin: Plugin;
  /** Further plugins it needs, e.g. those whose services it requires. Default: none. */
  readonly plugins?: readonly (Plugin | string)[];
}

/**
 * Starts a gateway with the plugin and hands out the contribution: `await contributionOf(t, Tool, "notes_add", { plugin })`.
 * @param t the gateway runs until this test is over. @throws Error when the plugin does not run, or contributes nothing of that id
 */
export async function contributionOf<T>(
  t: Pick<ContractContext, "after">,
  point: ExtensionPoint<T>,
  id: string,
  { plugin, plugins = [], ...options }: ContributionOptions,
): Promise<T> {
  const found = new Map<string, unknown>();
  const watched = observed(plugin, {
    extend: (at, name, value) => void (at.id === point.id && found.set(name, value)),
  });
  const { gateway } = await testGateway(t, { ...options, plugins: [watched, ...plugins] });
  const report = gateway.plugins().find((one) => one.id === plugin.id);
  if (report?.state !== "active")
    throw new Error(`plugin ${plugin.id} is ${report?.state ?? "not there"}: ${report?.reason ?? "no reason given"}`);
  if (!found.has(id)) {
    const there = [...found.keys()].join(", ") || "nothing";
    throw new Error(`plugin ${plugin.id} contributes no ${point.id} "${id}", but: ${there}`);
  }
  return found.get(id) as T; // typed by the point
}

/** What is told of a `setup`. */
export interface Observer {
  extend?(point: ExtensionPoint<unknown>, id: string, value: unknown): void;
  /** Runs around the plugin's own `setup`. */
  around?(setup: () => void | Promise<void>): void | Promise<void>;
}

/** The same plugin, whose setups are observed. */
export function observed(plugin: Plugin, { extend, around = (setup) => setup() }: Observer): Plugin {
  const watch = (gateway: PluginGateway) =>
    new Proxy(gateway, {
      get(target, key) {
        if (key !== "extend" || !extend) return Reflect.get(target, key) as unknown;
        return (point: ExtensionPoint<unknown>, id: string, value: unknown) => {
          extend(point, id, value);
          target.extend(point, id, value);
        };
      },
    });
  return { ...plugin, setup: (gateway) => around(() => plugin.setup(watch(gateway))) };
}
