/**
 * Configuration of this plugin: `gateway.tools` and rules below `tools`, each a separate section since other plugins own
 * other keys there. Changes apply from the next model request on. Spec: http/tools-invoke.md §6 and §7.
 */
import { type SectionValues, type Static, Strict, Type } from "@svc/sdk";
import { TOOL_PROFILES, type ToolPolicy, ToolRules } from "@svc/sdk/tools";
import { FROM_OUTSIDE, type FromOutside } from "./authority.ts";
import type { HttpRules } from "./steps.ts";

const names = (description: string) => Type.Array(Type.String(), { default: [], description, reload: "hot" });

/** Section `tools.subagents`. */
export const SubagentRules = Strict(
  {
    tools: Strict(
      {
        allow: names("the only tools sub-agents may use; lifts the fixed denies of the tools it names; empty: all"),
        alsoAllow: names("names of tools whose fixed denies are lifted"),
        deny: names("names, globs, groups or plugin ids that sub-agents may not use; takes precedence"),
      },
      { default: {} },
    ),
  },
  { reload: "hot" },
);
export type SubagentRules = Static<typeof SubagentRules>;

export const SECTIONS = {
  "tools.profile": Type.Enum([...TOOL_PROFILES], {
    default: "full",
    description: "predefined list of allowed tools; full: no restriction",
    reload: "hot",
  }),
  "tools.allow": names(
    "names, globs (`web_*`), `group:<name>` or plugin ids; empty: all tools that are not denied. A list without a core tool is ignored",
  ),
  "tools.alsoAllow": names("added to `tools.allow` and to the tools of the profile"),
  "tools.deny": names("the same kinds of entries; overrides every allow list"),
  "tools.byProvider": Type.Record(Type.String(), ToolRules, {
    default: {},
    description:
      "additional rules by `provider` or `provider/model`, case-insensitive; the longer key takes precedence",
    reload: "hot",
  }),
  "tools.fromOutside": Type.Enum([...FROM_OUTSIDE], {
    default: "ask",
    description:
      "handling of a call that sends data out, runs code, or changes the agent or the gateway, while the conversation contains text of an author who may not request that: ask a person, refuse it, or allow it",
    reload: "hot",
  }),
  "gateway.tools": Strict(
    {
      allow: names("names to remove from the built-in deny list of `/tools/invoke`; exact and case-sensitive"),
      deny: names("additional names that `/tools/invoke` denies; exact and case-sensitive; takes precedence"),
    },
    { reload: "hot" },
  ),
};

/** All rules of the configuration, for the policy. */
export interface Rules {
  readonly global: ToolPolicy;
  readonly subagents: SubagentRules["tools"];
  readonly http: HttpRules;
  readonly fromOutside: FromOutside;
}

export function rulesOf(subagents: SubagentRules, sections: SectionValues<typeof SECTIONS>): Rules {
  const global = {
    profile: sections["tools.profile"],
    allow: sections["tools.allow"],
    alsoAllow: sections["tools.alsoAllow"],
    deny: sections["tools.deny"],
    byProvider: sections["tools.byProvider"],
  };
  return {
    global,
    subagents: subagents.tools,
    http: sections["gateway.tools"],
    fromOutside: sections["tools.fromOutside"],
  };
}
