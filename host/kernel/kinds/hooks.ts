/** Taps: handlers a plugin adds to hooks of the host or of other plugins. */
import { HOOKS, type HookSpec, type TapOptions, Type } from "@svc/sdk";
import type { AnyHandler } from "../../hooks/guard.ts";
import { defineKind } from "../kind.ts";
import { emits } from "./emits.ts";

export interface DeclaredTap {
  readonly hook: HookSpec;
  readonly key: string | undefined;
  readonly options: TapOptions;
  readonly handler: AnyHandler;
}

export const hooks = defineKind<DeclaredTap>({
  name: "hooks",
  noun: "tap of",
  shape: Type.Object({ name: Type.String({ description: "<hook>, or <hook>:<key>" }), kind: Type.String() }),
  describe: ({ hook: { name, kind }, key }) => ({ name: key === undefined ? name : `${name}:${key}`, kind }),

  members(record) {
    const facade = (hook: HookSpec) => {
      const tapper = (key: string | undefined) => {
        const tap = (handler: AnyHandler, options: TapOptions = {}) => {
          if (typeof handler !== "function")
            throw new Error(`tap of ${hook.name}: the handler is the first argument: tap(handler, { phase })`);
          record({ hook, key, options, handler });
        };
        return { tap };
      };
      return hook.keyed ? { for: tapper } : tapper(undefined);
    };
    return {
      hooks: Object.fromEntries(Object.entries<HookSpec>(HOOKS).map(([name, hook]) => [name, facade(hook)])),
      hook: facade,
    };
  },

  listing: {
    key: "gates",
    read: ({ gates = [] }) => gates,
    value: ({ name, kind }) => (kind === "gate" ? name : undefined),
    refused: "packaged",
  },

  conflict(taps, { bus }) {
    const other = taps.find(({ hook }) => !bus.agrees(hook))?.hook;
    return (
      other &&
      `the hook ${other.name} of ${other.owner} is declared in two different ways; use the value that ${other.owner} exports`
    );
  },
  commit: ({ hook, key, options, handler }, { bus, owner }) => bus.tap(hook, key, owner, options, handler),
  inert: ({ hook: { name } }, live) =>
    HOST_HOOKS.has(name) || live.table(emits).get(name) ? undefined : `hook ${name}: no running plugin emits it`,

  refuse: ({ hook }) => trace(hook),
  wakes: ({ hook, options: { onlyAwake } }) => (onlyAwake ? undefined : trace(hook)),
  asleep: (tap) => (tap.options.onlyAwake ? undefined : tap),
  adopt: ({ handler, ...tap }) => ({ ...tap, handler: (input, { key, signal }) => handler(input, { key, signal }) }),
  deprecation: ({ hook: { name, deprecated } }) => [`hook ${name}`, deprecated],
});

function trace({ name, kind }: HookSpec): string | undefined {
  return kind === "trace" ? `the hook ${name} is called synchronously on hot paths` : undefined;
}

/** Names of the hooks the host itself emits. */
const HOST_HOOKS = new Set(
  Object.values<HookSpec>(HOOKS).flatMap(({ owner, name }) => (owner === "host" ? [name] : [])),
);
