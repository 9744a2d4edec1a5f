/** Section `gateway.nodes`: which commands of nodes are allowed. */
import { type Static, Strict, Type } from "@svc/sdk";

/** Choice: invalid names (blank, or with a `*`) are refused: an operator who denies `*` means all, but it would deny nothing. */
const Name = Type.String({ pattern: "^[^\\s*]+$" });
const names = (description: string) => Type.Optional(Type.Array(Name, { description, reload: "hot" }));

export const NodesConfig = Strict(
  {
    allowCommands: names(
      "Commands allowed on nodes in addition to those of their platform: exact names, no patterns. Default: none.",
    ),
    denyCommands: names("Commands denied on all nodes, whatever else allows them: exact names. Default: none."),
    // Choice: this gateway never controls a browser on a node by itself, so `off` is the only valid value.
    browser: Type.Optional(
      Strict({
        mode: Type.Optional(
          Type.Enum(["off"], { description: "only value: this gateway controls no browsers on nodes" }),
        ),
      }),
    ),
  },
  { title: "Nodes", description: "Devices that share their commands with this gateway" },
);
export type NodesConfig = Static<typeof NodesConfig>;
