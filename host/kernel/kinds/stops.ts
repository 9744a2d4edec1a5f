/** Stop functions: release resources acquired on first use. Unlike a start, a stop alone does not force the plugin awake. */
import { type Stop, Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export interface DeclaredStop {
  readonly release: Stop;
}

export const stops = defineKind<DeclaredStop>({
  name: "stops",
  noun: "stop",
  shape: Type.Object({ name: Type.String() }),
  describe: ({ release }) => ({ name: release.name || "stop" }),

  members: (record) => ({ onStop: (release: Stop) => record({ release }) }),
  tap({ started }) {
    started.tapPromise("stops", async ({ declared }, begin) => {
      for (const { release } of declared.of(stops)) await begin(() => release);
    });
  },

  adopt: ({ release }, remote) => ({ release: () => (remote.isOver() ? undefined : release()) }),
  asleep: () => undefined,
});
