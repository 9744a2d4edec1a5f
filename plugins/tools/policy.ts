/** Which tools the configuration leaves: a tool has to survive every step. Pure. Spec: http/tools-invoke.md §5 to §7. */
import { compileList, type Matcher, type NamedTool } from "./matcher.ts";
import { CORE_TOOLS, PLUGIN_TOOLS, plainName, RUN_ONLY_TOOLS } from "./names.ts";
import { httpDenied, type Levels, type Step, type StepName, stepsOf } from "./steps.ts";

/** What the policy goes by. */
export interface ToolFacts {
  readonly name: string;
  /** Plugin it comes from. */
  readonly plugin: string;
  readonly optional?: boolean | undefined;
  readonly runOnly?: boolean | undefined;
}

/** What took a tool away: the surface, its name, that nobody asked for it, a step, or the rules of `/tools/invoke`. */
export type Remover = "surface" | "clash" | "optional" | StepName | "http";

/** `why` is for people; whoever asks for the tool is never told. */
export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly step: Remover; readonly why: string };

/** Rules of one scene, ready to be asked. */
export interface Policy {
  judge(tool: ToolFacts): Verdict;
  /** What is written and cannot be meant. */
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
        return removed("clash", `its plugin is called ${tool.plugin}, as a tool of the core is`);
      if (facts.optional === true && !named(tool)) return removed("optional", "no list names it");
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
  /** Why it takes the tool away, or `undefined`. */
  judge(tool: NamedTool): string | undefined;
}

function compileStep({ name, source, allow: allowed, deny: denied }: Step): CompiledStep {
  const [allow, deny] = [compileList(allowed), compileList(denied)];
  // Spec: §7.1, steps 1 to 7. Choice: a list with a blank entry is no list of plugin names, and allows what is left of it.
  const isIgnored = allow.hasEntries && !allow.hasCore && !allow.hasBlanks && name !== "subagent";
  const isList = allow.hasEntries && !isIgnored;
  return {
    name,
    warnings: [
      ...(isIgnored
        ? [`${source}: the allow list names no tool of the core and is left out; add one, or "*", for it to count`]
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
  return useless.length === 0 ? [] : [`${source}: ${useless.join(", ")} in ${kind} can match no tool`];
}

/** An optional tool counts as named by its name, its plugin or `group:plugins`; no other group and no glob names it. Spec: §5. */
function compileExact(entries: readonly string[]): (tool: NamedTool) => boolean {
  const named = entries.filter((entry) => {
    const plain = plainName(entry);
    return !plain.includes("*") && (!plain.startsWith("group:") || plain === PLUGIN_TOOLS);
  });
  const { has } = compileList(named);
  return has;
}
