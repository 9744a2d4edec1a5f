/** Counts how often each hook fires: the harness behind "each hook fires exactly once on every path that should fire it". */
import { type GatewayHooks, HOOKS } from "../hook-catalogue.ts";
import { definePlugin, type Plugin } from "../plugin.ts";
import { Type } from "../schema.ts";

/** Every hook's facade at once. */
interface AnyTappable {
  tap(handler: () => void): void;
  for(key: string): { tap(handler: () => void): void };
}

/** Counts hook calls. */
export interface HookProbe {
  /** Put this among the plugins of the test gateway. */
  readonly plugin: Plugin;
  /** Times each hook fired since the start or the last `reset`; hooks that did not fire are absent. Keyed hooks read `name(key)`. */
  fired(): Readonly<Record<string, number>>;
  reset(): void;
}

/**
 * @param keys of keyed hooks to listen to, e.g. `{ rpcBefore: ["notes.add"] }`.
 * @param only hooks to tap. Default: all.
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
