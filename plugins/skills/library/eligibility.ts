/** Decides whether an agent can use a skill, and says what is missing and how to fix it. Pure. */
import type { SkillStatus } from "@svc/sdk/skills";
import type { SkillEntry, SkillsConfig } from "../config.ts";
import type { InstallSpec, Needs } from "./manifest.ts";
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
  /** A run that had read external content may have written the skill. */
  readonly isOutside: boolean;
}

export function statusOf(skill: Skill, machine: Machine, { config, allowed, isOutside }: Rules): SkillStatus {
  const { name, description, source, filePath, baseDir, skillKey, primaryEnv, emoji, homepage, always, needs } = skill;
  const isBundled = source === "svc-bundled";
  const entry = config.entries[skillKey] ?? {};
  const configChecks = needs.config.map((path) => ({ path, satisfied: machine.isConfigured(path) }));
  const missing: Needs = {
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
  const excludedByAgent = allowed !== undefined && !isNamed(skill, allowed);
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
    requirements: copied(needs),
    missing: copied(missing),
    configChecks,
    install: installers(skill, machine, config).map(({ id, kind, label, bins }) => ({
      id,
      kind,
      label,
      bins: [...bins],
    })),
  };
}

function isNamed({ name, skillKey }: Skill, names: readonly string[]): boolean {
  return names.includes(name) || names.includes(skillKey);
}

function isSet(variable: string, { primaryEnv }: Skill, { env = {}, apiKey }: SkillEntry): boolean {
  return Object.hasOwn(env, variable) || (variable === primaryEnv && apiKey !== undefined);
}

function copied({ bins, anyBins, env, config, os }: Needs): SkillStatus["missing"] {
  return { bins: [...bins], anyBins: [...anyBins], env: [...env], config: [...config], os: [...os] };
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
  const key = `skills.entries.${/^\w+$/.test(skillKey) ? skillKey : JSON.stringify(skillKey)}`;
  const said = (is: unknown, why: string, next: string) => (is ? [{ why, next }] : []);
  const [first] = install;
  const program = (names: readonly string[]) =>
    first === undefined
      ? `install ${names.join(" or ")}, so that PATH finds it`
      : `svc skills install ${quotedName(name)}`;
  const variable = (one: string) =>
    one === primaryEnv ? `svc config set ${key}.apiKey <key>` : `svc config set ${key}.env.${one} <value>`;
  const needs = always
    ? []
    : [
        ...missing.bins.map((bin) => ({ why: `the program ${bin} is missing`, next: program([bin]) })),
        ...said(
          missing.anyBins.length,
          `one of the programs ${missing.anyBins.join(", ")} is missing`,
          program(missing.anyBins),
        ),
        ...missing.env.map((one) => ({ why: `the variable ${one} is not set`, next: variable(one) })),
        ...missing.config.map((path) => ({ why: `${path} is not configured`, next: `svc config set ${path} <value>` })),
      ];
  return [
    ...said(status.disabled, "it is disabled", `svc config set ${key}.enabled true`),
    ...said(
      status.blockedByAllowlist,
      "skills.allowBundled does not list it",
      `add ${JSON.stringify(name)} to skills.allowBundled`,
    ),
    ...said(
      status.excludedByAgent,
      "agents.list[].skills of the agent does not list it",
      `add ${JSON.stringify(name)} to it`,
    ),
    ...said(
      status.outside,
      "a run that had read external content may have written it",
      `read ${status.filePath}, then save it again yourself, or move its folder to the installed skills`,
    ),
    ...said(missing.os.length, `it is for ${missing.os.join(", ")}`, "use it on such a system"),
    ...needs,
  ];
}

function quotedName(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
}
