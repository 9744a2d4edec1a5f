/** Gets a contribution of a plugin from a running gateway, so that a contract suite can test it in isolation. */
import type { Plugin, PluginGateway } from "../../plugin.ts";
import type { ExtensionPoint } from "../../service.ts";
import { testGateway, type TestGatewayOptions } from "../test-gateway.ts";
import type { ContractContext } from "./context.ts";

/** Environment of the plugin. */
export interface ContributionOptions extends Pick<TestGatewayOptions, "config" | "gateway" | "stateDir"> {
  readonly plugin: Plugin;
  /** Further required plugins, e.g. providers of required services. Default: none. */
  readonly plugins?: readonly (Plugin | string)[];
}

/**
 * Starts a gateway with the plugin and returns the contribution: `await contributionOf(t, Tool, "notes_add", { plugin
 * })`.
 * @param t the gateway runs until this test is over
 * @throws Error if the plugin does not run, or contributes nothing with that id
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
    throw new Error(`plugin ${plugin.id} is ${report?.state ?? "not loaded"}: ${report?.reason ?? "no reason given"}`);
  if (!found.has(id)) {
    const there = [...found.keys()].join(", ") || "nothing";
    throw new Error(`plugin ${plugin.id} contributes no ${point.id} "${id}", only: ${there}`);
  }
  return found.get(id) as T; // typed by the point
}

/** Observes a `setup`. */
export interface Observer {
  extend?(point: ExtensionPoint<unknown>, id: string, value: unknown): void;
  /** Runs around the plugin's own `setup`. */
  around?(setup: () => void | Promise<void>): void | Promise<void>;
}

/** A copy of the plugin whose `setup` is observed. */
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
