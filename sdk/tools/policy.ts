/** Tool settings of one level: `tools`, or `agents.list[].tools`. Spec: http/tools-invoke.md §7. */
import { type Static, Strict, Type } from "../schema.ts";
import { SandboxSettings } from "./sandbox.ts";

/** Names of profiles. Spec: tools-invoke.md §7.2. */
export const TOOL_PROFILES = ["minimal", "coding", "messaging", "full"] as const;
export type ToolProfile = (typeof TOOL_PROFILES)[number];

const names = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

const rules = {
  profile: Type.Optional(
    Type.Enum([...TOOL_PROFILES], {
      description: "predefined list of allowed tools; full: all tools; default full",
    }),
  ),
  allow: names("names, globs (`web_*`), `group:<name>` or plugin ids; empty or absent: all tools that are not denied"),
  alsoAllow: names("added to `allow` and to the tools allowed by the profile"),
  deny: names("the same kinds of names; takes precedence over every `allow`"),
};

/** Rules for one provider or model. */
export const ToolRules = Strict(rules);
export type ToolRules = Static<typeof ToolRules>;

/** Rules of one level. */
const TOOL_POLICY_KEYS = {
  ...rules,
  byProvider: Type.Optional(
    Type.Record(Type.String(), ToolRules, {
      description: "additional rules by `provider` or `provider/model`, in any case; the longer key first",
    }),
  ),
};

/** Tool policy of an agent, and how its commands run. */
export const ToolPolicy = Strict({
  ...TOOL_POLICY_KEYS,
  exec: Type.Optional(
    Strict(
      { sandbox: Type.Optional(SandboxSettings) },
      { description: "how commands of the agent run; each key overrides tools.exec" },
    ),
  ),
});
export type ToolPolicy = Static<typeof ToolPolicy>;
