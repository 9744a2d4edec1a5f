/**
 * The steps of the policy: what each level of the configuration allows and denies, in order. Pure.
 * Spec: http/tools-invoke.md §6 and §7. The last step, for `/tools/invoke`, is separate, since it compares exact names.
 */
import type { GroupToolRules, ToolPolicy, ToolRules } from "@svc/sdk/tools";
import { plainName, PROFILES, words } from "./names.ts";

/** All inputs of the policy, as configured. */
export interface Levels {
  readonly surface: "run" | "http";
  /** Keys below `tools`. */
  readonly global: ToolPolicy;
  /** `agents.list[].tools` of the agent. */
  readonly agent?: ToolPolicy | undefined;
  /** The model of the run; without one, the steps by provider are skipped. */
  readonly model?: { readonly provider: string; readonly id: string } | undefined;
  /** Rules of the session's groups; all of them apply. */
  readonly groups?: readonly GroupToolRules[];
  /** Set for the session of a sub-agent. */
  readonly subagent?: { readonly isLeaf: boolean; readonly rules: GroupToolRules } | undefined;
  /** `gateway.tools`. */
  readonly http: HttpRules;
}

/** Exact names. */
export interface HttpRules {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** In the order of the chain. */
export const STEPS = [
  "profile",
  "provider profile",
  "global",
  "global by provider",
  "agent",
  "agent by provider",
  "group",
  "subagent",
] as const;
export type StepName = (typeof STEPS)[number];

/** One step with its entries as configured. */
export interface Step {
  readonly name: StepName;
  /** Where it is configured, for people. */
  readonly source: string;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Entries that list optional tools. */
  readonly named: readonly string[];
}

/** Spec: §7.4. */
const SUBAGENT_DENY = words(
  "gateway agents_list whatsapp_login session_status cron memory_search memory_get sessions_send",
);
const LEAF_DENY = words("sessions_list sessions_history sessions_spawn");
/** Built-in deny list of `/tools/invoke`. Spec: §6. */
export const HTTP_DENY = words("sessions_spawn sessions_send cron gateway whatsapp_login");

/** The steps with rules; the others are skipped. */
export function stepsOf({ global, agent, model, groups = [], subagent }: Levels): readonly Step[] {
  const ofGlobal = byProvider(global, model);
  const ofAgent = byProvider(agent, model);
  const profiled = ofAgent?.profile === undefined ? ofGlobal : ofAgent;
  return [
    profileStep("profile", "the profile", agent?.profile ?? global.profile, agent?.alsoAllow ?? global.alsoAllow),
    profileStep("provider profile", "the profile of byProvider", profiled?.profile, profiled?.alsoAllow),
    rulesStep("global", "tools", global),
    rulesStep("global by provider", "tools.byProvider", ofGlobal),
    rulesStep("agent", "agents.list[].tools", agent),
    rulesStep("agent by provider", "agents.list[].tools.byProvider", ofAgent),
    ...groups.map((rules) => rulesStep("group", "the rules of the group", rules)),
    subagent && subagentStep(subagent),
  ].filter((step) => step !== undefined);
}

/** Names that `/tools/invoke` denies; exact and case-sensitive. Spec: §6. */
export function httpDenied({ allow = [], deny = [] }: HttpRules): ReadonlySet<string> {
  return new Set([...HTTP_DENY.filter((name) => !allow.includes(name)), ...deny]);
}

/** The longer key takes precedence; keys are case-insensitive, and of two spellings the first one counts. Spec: §7.1. */
function byProvider(policy: ToolPolicy | undefined, model: Levels["model"]): ToolRules | undefined {
  if (!policy?.byProvider || !model) return undefined;
  const entries = Object.entries(policy.byProvider);
  const of = (wanted: string) => entries.find(([key]) => key.trim().toLowerCase() === wanted.toLowerCase())?.[1];
  return of(`${model.provider}/${model.id}`) ?? of(model.provider);
}

function profileStep(
  name: StepName,
  source: string,
  profile: ToolPolicy["profile"],
  also: readonly string[] = [],
): Step | undefined {
  if (profile === undefined || profile === "full") return undefined;
  const allow = [...(PROFILES.get(profile) ?? [""]), ...also]; // an unknown profile allows nothing
  return { name, source: `${source} ${profile}`, allow, deny: [], named: allow };
}

function rulesStep(name: StepName, source: string, rules: GroupToolRules | undefined): Step | undefined {
  if (!rules) return undefined;
  const { allow = [], alsoAllow = [], deny = [] } = rules;
  if (allow.length + alsoAllow.length + deny.length === 0) return undefined;
  return { name, source, allow: united(allow, alsoAllow), deny, named: [...allow, ...alsoAllow] };
}

/** `alsoAllow` without `allow` restricts nothing. Spec: §7.1. */
function united(allow: readonly string[], also: readonly string[]): readonly string[] {
  if (also.length === 0) return allow;
  return allow.length === 0 ? ["*", ...also] : [...allow, ...also];
}

/** Choice: only names lift a fixed deny, no groups or globs; `allow` also restricts sub-agents to its entries, as in other steps. */
function subagentStep({ isLeaf, rules }: NonNullable<Levels["subagent"]>): Step {
  const { allow = [], alsoAllow = [], deny = [] } = rules;
  const named = [...allow, ...alsoAllow];
  const lifted = new Set(named.map(plainName));
  const fixed = [...SUBAGENT_DENY, ...(isLeaf ? LEAF_DENY : [])].filter((name) => !lifted.has(name));
  return {
    name: "subagent",
    source: "tools.subagents.tools",
    allow: united(allow, alsoAllow),
    deny: [...fixed, ...deny],
    named,
  };
}
