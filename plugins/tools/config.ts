/**
 * What this plugin owns of the configuration: the rules below `tools`, each a section of its own as other plugins have other
 * keys there, and `gateway.tools`. All of it counts from the next question on. Spec: http/tools-invoke.md §6 and §7.
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
        allow: names("all that sub-agents may use; lifts the fixed denies of the tools it names; empty: all"),
        alsoAllow: names("tools to lift the fixed denies of, by name"),
        deny: names("names, globs, groups or plugin ids that sub-agents may not use; wins"),
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
    description: "a ready-made list of allowed tools; full: all of them",
    reload: "hot",
  }),
  "tools.allow": names(
    "names, globs (`web_*`), `group:<name>` or plugin ids; empty: all that are not denied. A list without a tool of the core is left out",
  ),
  "tools.alsoAllow": names("added to `tools.allow`, and to what the profile allows"),
  "tools.deny": names("the same kinds of names; wins over every allow"),
  "tools.byProvider": Type.Record(Type.String(), ToolRules, {
    default: {},
    description: "further rules by `provider` or `provider/model`, in any case, the longer one first",
    reload: "hot",
  }),
  "tools.fromOutside": Type.Enum([...FROM_OUTSIDE], {
    default: "ask",
    description:
      "what becomes of a call that sends out, runs code, or changes the agent or the gateway, when the conversation holds words of somebody who may not ask for that: people are asked, it is refused, or it is carried out",
    reload: "hot",
  }),
  "gateway.tools": Strict(
    {
      allow: names("names to take off the list of what `/tools/invoke` denies by itself; exact, case and all"),
      deny: names("further names that `/tools/invoke` denies; exact, case and all; wins"),
    },
    { reload: "hot" },
  ),
};

/** All of it, as the policy takes it. */
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
