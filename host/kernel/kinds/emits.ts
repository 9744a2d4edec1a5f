/** Hooks a plugin owns, which other plugins may tap. */
import { type HookSpec, Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export interface EmittedHook {
  readonly hook: HookSpec;
}

export const emits = defineKind<EmittedHook>({
  name: "emits",
  noun: "hook",
  shape: Type.Object({ name: Type.String(), kind: Type.String() }),
  isUnique: true,
  describe: ({ hook: { name, kind } }) => ({ name, kind }),

  members: (record, { emitter }) => ({
    emits(hook: HookSpec) {
      record({ hook });
      return emitter(hook);
    },
  }),

  conflict(entries, { plugin, bus }) {
    const foreign = entries.find(({ hook }) => hook.owner !== plugin.id)?.hook;
    if (foreign) return `hook ${foreign.name} belongs to ${foreign.owner}; only that plugin may emit it`;
    const other = entries.find(({ hook }) => !bus.agrees(hook))?.hook;
    return other && `the hook ${other.name} is already tapped with another kind; rename it`;
  },

  refuse: () => "hooks are emitted synchronously",
});
