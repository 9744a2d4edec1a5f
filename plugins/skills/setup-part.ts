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
  /** The first installer that this gateway may run, of a skill that lacks only programs. */
  function installerOf({ eligible, disabled, blockedByAllowlist, missing, install: all }: SkillStatus) {
    const lacks = [...missing.env, ...missing.config, ...missing.os].length === 0;
    if (eligible || disabled || blockedByAllowlist || !lacks) return undefined;
    return all.find(({ kind }) => allowSystem() || (kind !== "apt" && kind !== "brew"));
  }

  async function summary(principal: Principal): Promise<string> {
    const { skills: all } = await status(principal);
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
      if (options.length === 0) return { done: true, message: await summary(principal) };
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
      return { done: true, message: [...failures, await summary(principal)].join("\n") };
    },
  };
}
