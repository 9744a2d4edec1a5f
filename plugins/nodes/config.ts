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
    browser: Type.Optional(
      Strict(
        {
          mode: Type.Optional(
            Type.Enum(["auto", "manual", "off"], {
              description:
                "auto: the only connected node with a browser, if there is exactly one; manual: only `node`; off: always this machine. Default auto.",
              reload: "hot",
            }),
          ),
          node: Type.Optional(
            Type.String({
              minLength: 1,
              description: "Node whose browser is used: id, address, name, or the first 6 or more characters of the id",
              reload: "hot",
            }),
          ),
        },
        { description: "Whose browser browser.request and the tool browser use" },
      ),
    ),
  },
  { title: "Nodes", description: "Devices that share their commands with this gateway" },
);
export type NodesConfig = Static<typeof NodesConfig>;
