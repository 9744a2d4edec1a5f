/** Section `gateway.nodes`: which commands nodes may be asked for. */
import { type Static, Strict, Type } from "@svc/sdk";

/** Choice: what can be no name (blank, or with a `*`) is refused: who denies `*` means all, and it would deny nothing. */
const Name = Type.String({ pattern: "^[^\\s*]+$" });
const names = (description: string) => Type.Optional(Type.Array(Name, { description, reload: "hot" }));

export const NodesConfig = Strict(
  {
    allowCommands: names(
      "Commands nodes may be asked for beside those of their platform: exact names, no patterns. Default: none.",
    ),
    denyCommands: names("Commands no node is asked for, whatever else allows them: exact names. Default: none."),
    // Choice: nothing in this gateway drives a browser on a node by itself, so only what is true anyway can be said.
    browser: Type.Optional(
      Strict({ mode: Type.Optional(Type.Enum(["off"], { description: "the only choice here" })) }),
    ),
  },
  { title: "Nodes", description: "Devices that lend what they can do" },
);
export type NodesConfig = Static<typeof NodesConfig>;
