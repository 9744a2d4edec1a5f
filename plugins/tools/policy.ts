/** Decides which tools the configuration allows: every step must allow a tool. Pure. Spec: http/tools-invoke.md §5 to §7. */
import { compileList, type Matcher, type NamedTool } from "./matcher.ts";
import { CORE_TOOLS, PLUGIN_TOOLS, plainName, RUN_ONLY_TOOLS } from "./names.ts";
import { httpDenied, type Levels, type Step, type StepName, stepsOf } from "./steps.ts";

/** Facts about a tool that the policy uses. */
export interface ToolFacts {
  readonly name: string;
  /** Plugin that contributes it. */
  readonly plugin: string;
  readonly optional?: boolean | undefined;
  readonly runOnly?: boolean | undefined;
}

/** What removed a tool: the surface, a name clash, being optional and not listed, a step, or the rules of `/tools/invoke`. */
export type Remover = "surface" | "clash" | "optional" | StepName | "http";

/** `why` is for operators; callers of the tool never see it. */
export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly step: Remover; readonly why: string };

/** The compiled rules of one scene. */
export interface Policy {
  judge(tool: ToolFacts): Verdict;
  /** Warnings about entries that are probably mistakes. */
  readonly warnings: readonly string[];
}

const ALLOWED: Verdict = { allowed: true };
const EXEC: NamedTool = { name: "exec", plugin: "" };

/** The verdict on each tool, by its name. */
export function decide(tools: readonly ToolFacts[], levels: Levels): ReadonlyMap<string, Verdict> {
  const policy = compilePolicy(levels);
  return new Map(tools.map((tool) => [tool.name, policy.judge(tool)]));
}

export function compilePolicy(levels: Levels): Policy {
  const isHttp = levels.surface === "http";
  const written = stepsOf(levels);
  const steps = written.map(compileStep);
  const named = compileExact(written.flatMap((step) => step.named));
  const denied = isHttp ? httpDenied(levels.http) : new Set<string>();
  return {
    warnings: [...new Set(steps.flatMap(({ warnings }) => warnings))],

    judge(facts) {
      const tool = { name: plainName(facts.name), plugin: facts.plugin };
      if (isHttp && (facts.runOnly === true || RUN_ONLY_TOOLS.has(tool.name)))
        return removed("surface", "it needs an agent's run");
      if (CORE_TOOLS.has(tool.plugin) && !CORE_TOOLS.has(tool.name))
        return removed("clash", `its plugin has the name of the core tool ${tool.plugin}`);
      if (facts.optional === true && !named(tool)) return removed("optional", "it is optional and not listed");
      for (const { name, judge } of steps) {
        const why = judge(tool);
        if (why !== undefined) return removed(name, why);
      }
      return denied.has(facts.name) ? removed("http", "gateway.tools denies it") : ALLOWED;
    },
  };
}

function removed(step: Remover, why: string): Verdict {
  return { allowed: false, step, why };
}

interface CompiledStep {
  readonly name: StepName;
  readonly warnings: readonly string[];
  /** Why the step removes the tool; `undefined`: it does not. */
  judge(tool: NamedTool): string | undefined;
}

function compileStep({ name, source, allow: allowed, deny: denied }: Step): CompiledStep {
  const [allow, deny] = [compileList(allowed), compileList(denied)];
  // Spec: §7.1, steps 1 to 7. Choice: a list with a blank entry is not ignored, and allows its other entries.
  const isIgnored = allow.hasEntries && !allow.hasCore && !allow.hasBlanks && name !== "subagent";
  const isList = allow.hasEntries && !isIgnored;
  return {
    name,
    warnings: [
      ...(isIgnored
        ? [`${source}: the allow list names no core tool and is ignored; add one, or "*", to activate it`]
        : []),
      ...told(source, "allow", allow),
      ...told(source, "deny", deny),
    ],
    judge(tool) {
      if (deny.has(tool)) return `${source} denies it`;
      if (!isList || allow.has(tool)) return undefined;
      const isImplied = tool.name === "apply_patch" && allow.has(EXEC); // Spec: §7.1
      return isImplied ? undefined : `${source} does not allow it`;
    },
  };
}

function told(source: string, kind: string, { useless }: Matcher): string[] {
  return useless.length === 0 ? [] : [`${source}: ${useless.join(", ")} in ${kind} cannot match any tool`];
}

/** An optional tool must be listed by name, by plugin or by `group:plugins`; other groups and globs do not count. Spec: §5. */
function compileExact(entries: readonly string[]): (tool: NamedTool) => boolean {
  const named = entries.filter((entry) => {
    const plain = plainName(entry);
    return !plain.includes("*") && (!plain.startsWith("group:") || plain === PLUGIN_TOOLS);
  });
  const { has } = compileList(named);
  return has;
}
