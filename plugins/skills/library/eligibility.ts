/** Decides whether an agent can use a skill, and says what is missing and how to fix it. Pure. */
import { invalidRequest } from "@svc/sdk";
import { commandText, settingText } from "@svc/sdk/cli";
import type { SkillNeeds, SkillStatus } from "@svc/sdk/skills";
import type { SkillEntry, SkillsConfig } from "../config.ts";
import { type InstallSpec, shownInstaller } from "./manifest.ts";
import type { Skill } from "./sources.ts";

/** What this machine has. */
export interface Machine {
  readonly platform: string;
  readonly hasProgram: (name: string) => boolean;
  /** A variable of the gateway's own environment that the skill may use. */
  readonly hasVariable: (name: string) => boolean;
  /** Whether the configuration has a value at this path. */
  readonly isConfigured: (path: string) => boolean;
}

export interface Rules {
  readonly config: SkillsConfig;
  /** `agents.list[].skills` */
  readonly allowed: readonly string[] | undefined;
  /** Agents can write the skill. */
  readonly isWritable: boolean;
  /** A run that had read external content may have written the skill. */
  readonly isOutside: boolean;
}

export function statusOf(
  skill: Skill,
  machine: Machine,
  { config, allowed, isWritable, isOutside }: Rules,
): SkillStatus {
  const { name, description, source, filePath, baseDir, skillKey, primaryEnv, emoji, homepage, always, needs } = skill;
  const isBundled = source === "svc-bundled";
  const entry = config.entries[skillKey] ?? {};
  const configChecks = needs.config.map((path) => ({ path, satisfied: machine.isConfigured(path) }));
  const missing: SkillNeeds = {
    bins: needs.bins.filter((bin) => !machine.hasProgram(bin)),
    anyBins: needs.anyBins.some((bin) => machine.hasProgram(bin)) ? [] : needs.anyBins,
    env: needs.env.filter((variable) => !isSet(variable, skill, entry) && !machine.hasVariable(variable)),
    config: configChecks.filter(({ satisfied }) => !satisfied).map(({ path }) => path),
    os: needs.os.length === 0 || needs.os.includes(machine.platform) ? [] : needs.os,
  };
  const { os, ...others } = missing;
  const isFit = os.length === 0 && (always || Object.values(others).every((names) => names.length === 0));
  const disabled = entry.enabled === false;
  const { allowBundled } = config;
  const blockedByAllowlist = isBundled && allowBundled !== undefined && !isNamed(skill, allowBundled);
  // An agent could give its own skill the key, and so the secrets, of a skill that it may not use.
  const isListed = isWritable ? allowed?.includes(skillKey) : allowed && isNamed(skill, allowed);
  const excludedByAgent = isListed === false;
  return {
    name,
    description,
    source,
    filePath,
    baseDir,
    skillKey,
    ...(isBundled && { bundled: true }),
    ...(primaryEnv !== undefined && { primaryEnv }),
    ...(emoji !== undefined && { emoji }),
    ...(homepage !== undefined && { homepage }),
    always,
    disabled,
    blockedByAllowlist,
    ...(excludedByAgent && { excludedByAgent }),
    ...(isOutside && { outside: true }),
    eligible: isFit && !disabled && !blockedByAllowlist && !excludedByAgent && !isOutside,
    requirements: needs,
    missing,
    configChecks,
    install: installers(skill, machine, config).map(shownInstaller),
  };
}

function isNamed({ name, skillKey }: Skill, names: readonly string[]): boolean {
  return names.includes(name) || names.includes(skillKey);
}

function isSet(variable: string, { primaryEnv }: Skill, { env = {}, apiKey }: SkillEntry): boolean {
  return Object.hasOwn(env, variable) || (variable === primaryEnv && apiKey !== undefined);
}

/** Those for this system. With `skills.install.preferBrew` and the program `brew`, its installers are first; else last. */
export function installers(
  { install }: Pick<Skill, "install">,
  { platform, hasProgram }: Pick<Machine, "platform" | "hasProgram">,
  { install: { preferBrew } }: Pick<SkillsConfig, "install">,
): readonly InstallSpec[] {
  const fitting = install.filter(({ os }) => os.length === 0 || os.includes(platform));
  const isFirst = preferBrew && hasProgram("brew");
  const isBrew = ({ kind }: InstallSpec) => kind === "brew";
  const [brew, others] = [fitting.filter(isBrew), fitting.filter((spec) => !isBrew(spec))];
  return isFirst ? [...brew, ...others] : [...others, ...brew];
}

/** Why agents cannot use the skill, each with the next step. Empty: they can. */
export function obstacles(status: SkillStatus): readonly { readonly why: string; readonly next: string }[] {
  const { name, skillKey, missing, install, primaryEnv, always } = status;
  const setting = (...path: readonly string[]) =>
    commandText(["svc", "config", "set", settingText(["skills", "entries", skillKey, ...path])]);
  const said = (is: unknown, why: string, next: string) => (is ? [{ why, next }] : []);
  const program = (names: string) =>
    install.length === 0 ? `install ${names}, so that PATH finds it` : commandText(["svc", "skills", "install", name]);
  const needs = always
    ? []
    : [
        ...missing.bins.map((bin) => ({ why: `the program ${bin} is missing`, next: program(bin) })),
        ...said(
          missing.anyBins.length,
          `one of the programs ${missing.anyBins.join(", ")} is missing`,
          program(missing.anyBins.join(" or ")),
        ),
        ...missing.env.map((one) => ({
          why: `the variable ${one} is not set`,
          next: one === primaryEnv ? `${setting("apiKey")} <key>` : `${setting("env", one)} <value>`,
        })),
        ...missing.config.map((path) => ({ why: `${path} is not configured`, next: `svc config set ${path} <value>` })),
      ];
  return [
    ...said(
      status.outside,
      "a run that had read external content may have written it",
      `read ${status.filePath}, then save it again yourself, or move its folder to the installed skills`,
    ),
    ...said(status.disabled, "it is disabled", `${setting("enabled")} true`),
    ...said(
      status.blockedByAllowlist,
      "skills.allowBundled does not list it",
      `add ${JSON.stringify(name)} to skills.allowBundled`,
    ),
    ...said(
      status.excludedByAgent,
      "agents.list[].skills of the agent does not list it",
      `add ${JSON.stringify(skillKey)} to it`,
    ),
    ...said(missing.os.length, `it is for ${missing.os.join(", ")}`, "use it on such a system"),
    ...needs,
  ];
}

/** @throws GatewayError `INVALID_REQUEST` naming the first obstacle, if agents cannot use the skill */
export function requireUsable(status: SkillStatus): void {
  const [obstacle] = obstacles(status);
  if (obstacle) invalidRequest(`the skill ${status.name} cannot be used: ${obstacle.why}. Next: ${obstacle.next}`);
}
