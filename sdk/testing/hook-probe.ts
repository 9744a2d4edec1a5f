/** Counts how often each hook fires, for tests that each hook fires exactly once on every path that should fire it. */
import { type GatewayHooks, HOOKS } from "../hook-catalogue.ts";
import { definePlugin, type Plugin } from "../plugin.ts";
import { Type } from "../schema.ts";

/** The facade of any hook. */
interface AnyTappable {
  tap(handler: () => void): void;
  for(key: string): { tap(handler: () => void): void };
}

/** Counter of hook calls. */
export interface HookProbe {
  /** Add this plugin to the test gateway. */
  readonly plugin: Plugin;
  /**
   * Number of times each hook fired since the start or the last `reset`; hooks that did not fire are absent. Keyed
   * hooks appear as `name(key)`.
   */
  fired(): Readonly<Record<string, number>>;
  reset(): void;
}

/**
 * @param keys keys of keyed hooks to count, e.g. `{ rpcBefore: ["notes.add"] }`
 * @param only hooks to tap. Default: all
 */
export function createHookProbe(
  keys: Readonly<Record<string, readonly string[]>> = {},
  only?: readonly string[],
): HookProbe {
  const counts = new Map<string, number>();
  const plugin = definePlugin({
    id: "hook-probe",
    api: "^1.0.0",
    config: Type.Object({}),
    setup({ hooks }) {
      for (const [name, spec] of Object.entries(HOOKS)) {
        if (only && !only.includes(name)) continue;
        const count = (label: string) => () => void counts.set(label, (counts.get(label) ?? 0) + 1);
        const facade = hooks[name as keyof GatewayHooks] as unknown as AnyTappable;
        if (!spec.keyed) facade.tap(count(name));
        else for (const key of keys[name] ?? []) facade.for(key).tap(count(`${name}(${key})`));
      }
    },
  });
  return { plugin, fired: () => Object.fromEntries(counts), reset: () => counts.clear() };
}
