/** The extension point `Skills`: what commands of an agent need to know about its skills. */
import { defineExtensionPoint } from "../service.ts";

/** What a command of a skill gets. */
export interface SkillEnvironment {
  /** Variables of the skill: its `env`, and its `apiKey` under the name of its `primaryEnv`. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute directories with programs that were installed for the skill; they precede `PATH`. */
  readonly path: readonly string[];
}

/** The eligible skills of agents. */
export interface Skills {
  /** Absolute directories, without links, that commands of this agent read: of its skills and of their programs. */
  directories(agentId: string): Promise<readonly string[]>;
  /**
   * Environment of a command that belongs to a skill. No other command gets it.
   * @throws GatewayError `INVALID_REQUEST` if the agent has no eligible skill of this name, with the reason
   */
  environment(agentId: string, name: string): Promise<SkillEnvironment>;
  /**
   * Programs named by the eligible skills of an agent, without those of skills that agents can write: absolute, links
   * resolved. An approval policy with `autoAllowSkills` allows them.
   */
  programs(agentId: string): Promise<readonly string[]>;
}

/** Token of the extension point. A service would keep the plugin awake that provides it. */
export const Skills = defineExtensionPoint<Skills>("skills", {
  summary:
    "Directories, environments and programs of skills. Owned by the plugin whose tools run commands; contributed by the plugin `skills`.",
  remotable: true,
});
