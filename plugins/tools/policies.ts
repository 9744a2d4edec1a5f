/** Caches compiled policies by agent, model and surface; compiles one again when its sources change. */
import type { Logger } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { GroupToolPolicy, GroupToolRules, ToolPolicy, ToolScene } from "@svc/sdk/tools";
import type { Rules } from "./config.ts";
import { compilePolicy, type Policy, type ToolFacts } from "./policy.ts";
import { groupsOf, subagentDepth } from "./session-place.ts";
import type { KnownTool } from "./shelf.ts";

/** Choice: maximum number of cached policies; agents and models are few, and compiling one again is fast. */
const KEPT = 256;
/** Rules of a group whose rules are not available. */
const NOTHING: GroupToolRules = { deny: ["*"] };

export interface PolicySources {
  /** The current rules; a different object after a change. */
  readonly rules: () => Rules;
  readonly agents: () => Pick<AgentDirectory, "toolPolicy" | "maxSpawnDepth"> | undefined;
  readonly groups: () => GroupToolPolicy | undefined;
  readonly log: Pick<Logger, "warn">;
}

/** Sources of a policy in addition to its cache key. */
interface Basis {
  readonly rules: Rules;
  readonly agent: ToolPolicy | undefined;
  readonly groups: readonly GroupToolRules[];
}

export class Policies {
  readonly #sources: PolicySources;
  readonly #kept = new Map<string, Basis & { readonly policy: Policy }>();
  readonly #told = new Set<string>();

  constructor(sources: PolicySources) {
    this.#sources = sources;
  }

  /** Returns the allowed tools. */
  judge(tools: readonly KnownTool[], scene: ToolScene): readonly KnownTool[] {
    const policy = this.of(scene);
    return tools.filter((tool) => policy.judge(factsOf(tool)).allowed);
  }

  of({ surface, agentId, sessionKey, model, address, principal }: ToolScene): Policy {
    const agents = this.#sources.agents();
    const depth = subagentDepth(sessionKey, surface);
    const isLeaf = depth !== undefined && depth >= (agents?.maxSpawnDepth ?? 1);
    const basis: Basis = {
      rules: this.#sources.rules(),
      agent: agents?.toolPolicy(agentId),
      groups: groupsOf(sessionKey, address).flatMap(
        (group) => this.#rulesOf({ ...group, principalId: principal.id }) ?? [],
      ),
    };
    const subagent = depth === undefined ? "none" : isLeaf ? "leaf" : "branch";
    const key = [surface, subagent, model?.provider ?? "", model?.id ?? "", agentId].join("\n");
    const kept = this.#kept.get(key);
    if (kept && isSame(kept, basis)) return kept.policy;

    const { rules, agent, groups } = basis;
    const policy = compilePolicy({
      surface,
      global: rules.global,
      agent,
      model,
      groups,
      subagent: depth === undefined ? undefined : { isLeaf, rules: rules.subagents },
      http: rules.http,
    });
    for (const warning of policy.warnings) this.#warn(warning, agentId);
    if (this.#kept.size >= KEPT) this.#kept.clear();
    this.#kept.set(key, { ...basis, policy });
    return policy;
  }

  /** If the rules of a group are not available, the group may use no tool. */
  #rulesOf(group: Parameters<GroupToolPolicy["of"]>[0]): GroupToolRules | undefined {
    try {
      return this.#sources.groups()?.of(group);
    } catch (error) {
      this.#sources.log.warn(
        { err: error, ...group },
        "the rules of a group could not be read; the group may use no tools until they can",
      );
      return NOTHING;
    }
  }

  #warn(warning: string, agentId: string): void {
    if (this.#told.has(warning)) return;
    if (this.#told.size < KEPT) this.#told.add(warning);
    this.#sources.log.warn({ agentId }, warning);
  }
}

export function factsOf({ name, tool: { optional, runOnly }, contribution: { plugin } }: KnownTool): ToolFacts {
  return { name, plugin, optional, runOnly };
}

function isSame(left: Basis, right: Basis): boolean {
  return (
    left.rules === right.rules &&
    left.agent === right.agent &&
    left.groups.length === right.groups.length &&
    left.groups.every((rules, index) => rules === right.groups[index])
  );
}
