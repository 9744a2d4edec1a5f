/** Services a plugin requires, known from its static part before setup. */
import { Type } from "@svc/sdk";
import { tokenOf } from "../graph.ts";
import { defineKind } from "../kind.ts";
import { services } from "./services.ts";

export const requires = defineKind<never>({
  name: "requires",
  noun: "requirement",
  shape: Type.Object({
    name: Type.String({ description: "id of the service" }),
    version: Type.String(),
    kind: Type.Enum(["hard", "optional", "live"]),
    provider: Type.Optional(Type.String({ description: "plugin id, or host; absent: no running plugin provides it" })),
  }),
  describe: (entry) => entry, // none is ever recorded

  known: ({ plugin }, live) =>
    Object.values(plugin?.requires ?? {}).map((requirement) => {
      const { id, version } = tokenOf(requirement).token;
      const provider = live.table(services).get(id)?.owner.id;
      const kind = requirement.kind === "service" ? "hard" : requirement.kind;
      return { name: id, version, kind, ...(provider === undefined ? {} : { provider }) };
    }),
});
