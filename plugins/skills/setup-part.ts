/** Part of the guided setup: installs the programs that skills lack. */
import { isGatewayError, type Principal, type ResultOf } from "@svc/sdk";
import type { skills, SkillStatus } from "@svc/sdk/skills";
import type { SetupPart } from "@svc/sdk/wizard";

export interface SkillPartSources {
  readonly status: (principal: Principal) => Promise<ResultOf<typeof skills.status>>;
  /** @throws GatewayError with the reason */
  readonly install: (name: string, installId: string, principal: Principal) => Promise<unknown>;
  /** `skills.install.allowSystem`: apt and brew run, too. */
  readonly allowSystem: () => boolean;
}

export function createSkillPart({ status, install, allowSystem }: SkillPartSources): Pick<SetupPart, "start" | "next"> {
  /** The first installer that this gateway may run, of a skill that only lacks programs. */
  function installerOf({ missing: { bins, anyBins, ...others }, install: all, ...skill }: SkillStatus) {
    const isUnwanted = skill.eligible || skill.disabled || skill.blockedByAllowlist || skill.excludedByAgent === true;
    const lacksPrograms = bins.length + anyBins.length > 0 && Object.values(others).every(({ length }) => length === 0);
    if (isUnwanted || skill.outside === true || !lacksPrograms) return undefined;
    return all.find(({ kind }) => allowSystem() || (kind !== "apt" && kind !== "brew"));
  }

  function summary(all: readonly SkillStatus[]): string {
    const ready = all.filter(({ eligible }) => eligible).length;
    const next = ready < all.length ? " svc skills check says what the others lack." : "";
    return `Skills: ${ready} of ${all.length} can be used.${next}`;
  }

  return {
    async start({ principal }) {
      const { skills: all } = await status(principal);
      const options = all.flatMap((skill) => {
        const installer = installerOf(skill);
        return installer
          ? [{ value: skill.name, label: `${skill.name}: ${installer.label}`, hint: skill.description }]
          : [];
      });
      if (options.length === 0) return { done: true, message: summary(all) };
      const message = "These skills lack a program that the gateway can install. Which ones should it install?";
      return { ask: { kind: "multiselect", message, options, initial: [] } };
    },

    async next({ principal, answer }) {
      const chosen = Array.isArray(answer) ? (answer as readonly unknown[]) : [];
      const failures: string[] = [];
      for (const skill of (await status(principal)).skills) {
        const installer = chosen.includes(skill.name) ? installerOf(skill) : undefined;
        if (!installer) continue;
        try {
          await install(skill.name, installer.id, principal);
        } catch (error) {
          if (!isGatewayError(error)) throw error;
          failures.push(`${skill.name} was not installed: ${error.message}`);
        }
      }
      return { done: true, message: [...failures, summary((await status(principal)).skills)].join("\n") };
    },
  };
}
