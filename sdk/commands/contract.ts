/** Commands namespace: what people can write in a chat. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** A chat command in a menu. */
export const CommandEntry = Type.Object({
  name: NonEmpty,
  textAliases: Type.Array(Type.String(), {
    description: "what people can write, e.g. `/new`; the first one is the usual one",
  }),
  description: Type.String(),
  acceptsArgs: Type.Boolean(),
  usage: Type.Optional(Type.String({ description: "the arguments, e.g. `[mode]`" })),
  scope: Type.Enum(["text"], { description: "where it can be used: in texts" }),
  source: Type.Enum(["plugin"], { description: "who provides it" }),
});
export type CommandEntry = Static<typeof CommandEntry>;

/** Listing chat commands. */
export const commands = defineContract("commands", {
  list: {
    summary: "List the chat commands that the caller may use, by name",
    scope: "operator.read",
    params: Strict({
      agentId: Type.Optional(Type.String({ minLength: 1, description: "accepted; every agent has the same commands" })),
      scope: Type.Optional(Type.Enum(["text", "native", "both"], { description: "accepted; all commands are texts" })),
      includeArgs: Type.Optional(Type.Boolean({ description: "false leaves `usage` out; default true" })),
    }),
    result: Type.Object({ commands: Type.Array(CommandEntry) }),
  },
});
