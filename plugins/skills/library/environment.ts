/** The extension point `Skills`: environments, directories and programs of skills. */
import { realpath } from "node:fs/promises";
import { refusedVariable, resolveProgram } from "@svc/kit/exec";
import { invalidRequest } from "@svc/sdk";
import { revealSetting, type Secrets } from "@svc/sdk/secrets";
import type { SkillEnvironment, Skills } from "@svc/sdk/skills";
import type { SkillsConfig } from "../config.ts";
import { requireUsable } from "./eligibility.ts";
import type { Judged, Library } from "./library.ts";
import type { Skill } from "./sources.ts";

export interface EnvironmentSources {
  readonly library: () => Promise<Library>;
  readonly config: () => SkillsConfig;
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
}

export function createSkills({ library, config, secrets }: EnvironmentSources): Skills {
  async function eligible(agentId: string): Promise<readonly Judged[]> {
    const { all } = await (await library()).of(agentId);
    return all.filter(({ status }) => status.eligible);
  }

  return {
    async directories(agentId) {
      const { tools } = await library();
      const skills = await eligible(agentId);
      // A command reads its workspace anyway; a folder that agents can replace by a link must not open another directory.
      const paths = skills.flatMap(({ skill: { baseDir, skillKey }, isWritable }) => [
        ...(isWritable ? [] : [baseDir]),
        tools.home(skillKey),
      ]);
      const real = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
      return [...new Set(real.filter((path) => path !== undefined))];
    },

    async environment(agentId, name): Promise<SkillEnvironment> {
      const skills = await library();
      const judged = await skills.find(agentId, name).catch(() => invalidRequest(noSkill(name)));
      requireUsable(judged.status);
      return { env: await environmentOf(judged, skills), path: skills.tools.path(judged.skill.skillKey) };
    },

    async programs(agentId) {
      const skills = await library();
      const trusted = (await eligible(agentId)).filter(({ isWritable }) => !isWritable);
      const names = trusted.flatMap(({ skill }) => binsOf(skill).map((bin) => ({ bin, key: skill.skillKey })));
      const files = await Promise.all(
        names.map(async ({ bin, key }) => {
          const file = await skills.program(key, bin);
          return file && resolveProgram(file, "/", { path: "", platform: process.platform });
        }),
      );
      return [...new Set(files.filter((file) => file !== undefined))];
    },
  };

  async function environmentOf(judged: Judged, skills: Library): Promise<Record<string, string>> {
    const { skillKey, primaryEnv, needs } = judged.skill;
    const { apiKey, env = {} } = config().entries[skillKey] ?? {};
    const values: Record<string, string> = {};
    for (const name of [...needs.env, ...(primaryEnv === undefined ? [] : [primaryEnv])]) {
      const value = skills.inherited(judged, name);
      if (value !== undefined) values[name] = value;
    }
    const set = { ...(primaryEnv !== undefined && apiKey !== undefined && { [primaryEnv]: apiKey }), ...env };
    for (const [name, setting] of Object.entries(set)) {
      const why = refusedVariable(name);
      if (why !== undefined) invalidRequest(`skills.entries.${skillKey}: ${why}; remove it`);
      values[name] = await revealSetting(setting, secrets(), `skills.entries.${skillKey}`);
    }
    return values;
  }
}

/** Every program that the skill names. Spec: methods-skills.md §2. */
export function binsOf({ needs, install }: Pick<Skill, "needs" | "install">): readonly string[] {
  return [...needs.bins, ...needs.anyBins, ...install.flatMap(({ bins }) => bins)];
}

function noSkill(name: string): string {
  return `there is no skill ${JSON.stringify(name.slice(0, 100))} for this agent; the tool skill lists them`;
}
