/** Start functions: acquire resources once all required plugins run, and return the function that releases them. */
import { Type } from "@svc/sdk";
import { type Begin, defineKind } from "../kind.ts";

export interface DeclaredStart {
  readonly begin: Begin;
}

export const starts = defineKind<DeclaredStart>({
  name: "starts",
  noun: "start",
  shape: Type.Object({ name: Type.String() }),
  describe: ({ begin }) => ({ name: begin.name || "start" }),

  members: (record) => ({ start: (begin: Begin) => record({ begin }) }),
  tap({ started }) {
    started.tapPromise("starts", async ({ declared }, begin) => {
      for (const start of declared.of(starts)) await begin(start.begin);
    });
  },

  adopt: ({ begin }, remote) => ({
    begin: async () => {
      const stop = await begin();
      return typeof stop === "function" ? () => (remote.isOver() ? undefined : stop()) : undefined;
    },
  }),
  wakes: () => "it acquires resources when the gateway starts",
});
