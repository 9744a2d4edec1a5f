/** Tools namespace. Spec: protocol/methods-models.md §2. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";
import { TOOL_PROFILES } from "./policy.ts";

const Profile = Type.Enum([...TOOL_PROFILES]);

const CatalogTool = Type.Object({
  id: NonEmpty,
  label: Type.String(),
  description: Type.String(),
  source: Type.Enum(["core", "plugin"]),
  pluginId: Type.Optional(Type.String()),
  optional: Type.Optional(Type.Boolean()),
  defaultProfiles: Type.Array(Profile),
  verdict: Type.Optional(
    Type.Object(
      {
        allowed: Type.Boolean(),
        step: Type.Optional(
          Type.String({
            description: "step of the policy that removed it, e.g. `profile`, `global`, `agent`, `optional`",
          }),
        ),
        why: Type.Optional(Type.String({ description: "for people" })),
      },
      { description: "with `verdicts` only" },
    ),
  ),
});

/** The available tools. */
export const tools = defineContract("tools", {
  catalog: {
    summary: "List the tools of this gateway by group, with the profiles that allow them",
    scope: "operator.read",
    params: Strict({
      agentId: Type.Optional(Type.String({ minLength: 1, description: "default: the default agent" })),
      includePlugins: Type.Optional(Type.Boolean({ description: "include tools of other plugins; default true" })),
      verdicts: Type.Optional(
        Type.Boolean({
          description:
            "add whether runs of the agent in its main session may use each tool, and why not; default false",
        }),
      ),
      model: Type.Optional(
        Type.String({
          pattern: "^[^/]+/.+$",
          description: "`provider/id`, for `verdicts`; default: rules by provider are skipped",
        }),
      ),
    }),
    result: Type.Object({
      agentId: NonEmpty,
      profiles: Type.Array(Type.Object({ id: Profile, label: NonEmpty })),
      groups: Type.Array(
        Type.Object({
          id: NonEmpty,
          label: NonEmpty,
          source: Type.Enum(["core", "plugin"]),
          pluginId: Type.Optional(Type.String()),
          tools: Type.Array(CatalogTool),
        }),
      ),
    }),
  },
});
