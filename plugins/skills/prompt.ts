/** Lists the skills of an agent in the prompt of a run. Pure. */
import type { PromptSkills } from "@svc/sdk/agents";
import { cut } from "@svc/sdk/cli";
import type { SkillsConfig } from "./config.ts";
import type { Judged } from "./library/library.ts";

const HEAD = `# Skills

A skill has instructions for a kind of task. Before such a task, read them with the tool \`skill\` and its name. Pass the name as \`skill\` to the tool \`exec\` for commands that the instructions tell you to run.`;

/** Choice: characters of a description when the whole ones do not fit. */
const SHORT_CHARS = 80;

/** `undefined`: no skill is listed. */
export function promptSkills(all: readonly Judged[], limits: SkillsConfig["limits"]): PromptSkills | undefined {
  const { maxSkillsInPrompt, maxSkillsPromptChars } = limits;
  const usable = all.filter(({ skill, status }) => status.eligible && !skill.isUnlisted);
  const listed = usable.slice(0, maxSkillsInPrompt);
  const lines =
    [Number.POSITIVE_INFINITY, SHORT_CHARS]
      .map((max) => listed.map(({ skill }) => `- ${skill.name}: ${cut(skill.description, max)}`))
      .find((some) => sizeOf(some) <= maxSkillsPromptChars) ?? fitting(listed, maxSkillsPromptChars);
  const left = usable.length - lines.length;
  const more = left > 0 ? [`- ${left} more: call the tool skill without a name`] : [];
  if (lines.length === 0) return undefined;
  const skills = listed.slice(0, lines.length).map(({ skill: { name, primaryEnv, needs } }, index) => ({
    name,
    ...(primaryEnv !== undefined && { primaryEnv }),
    ...(needs.env.length > 0 && { requiredEnv: needs.env }),
    chars: lines[index]?.length ?? 0,
  }));
  return { prompt: [HEAD, "", ...lines, ...more].join("\n"), skills };
}

function sizeOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length + 1, HEAD.length + 1);
}

/** Short lines up to the limit, with room for the line that says how many are left out. */
function fitting(listed: readonly Judged[], max: number): string[] {
  const lines: string[] = [];
  for (const { skill } of listed) {
    const line = `- ${skill.name}: ${cut(skill.description, SHORT_CHARS)}`;
    if (sizeOf([...lines, line]) + 60 > max) break;
    lines.push(line);
  }
  return lines;
}
