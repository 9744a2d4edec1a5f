/** Skills namespace. Spec: §4.1 row "Skills"; protocol/methods-skills.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const texts = Type.Array(Type.String());
const optionalText = Type.Optional(Type.String());

/** What a skill needs; in `SkillStatus.missing`: the part that this machine lacks. */
export const SkillNeeds = Type.Object({
  bins: texts,
  anyBins: Type.Array(Type.String(), { description: "one of these programs is enough" }),
  env: texts,
  config: Type.Array(Type.String(), { description: "dotted paths of the configuration that must be set" }),
  os: texts,
});
export type SkillNeeds = Static<typeof SkillNeeds>;

/** A way to install what a skill lacks. */
export const SkillInstaller = Type.Object({
  id: Type.String(),
  kind: Type.Enum(["brew", "node", "go", "uv", "download", "apt"]),
  label: Type.String(),
  bins: texts,
});
export type SkillInstaller = Static<typeof SkillInstaller>;

/** One skill, and whether agents can use it. */
export const SkillStatus = Type.Object({
  name: Type.String(),
  description: Type.String(),
  source: Type.String({
    description: "svc-bundled, svc-managed, svc-workspace, svc-extra, agents-skills-personal or agents-skills-project",
  }),
  filePath: Type.String(),
  baseDir: Type.String(),
  skillKey: Type.String({ description: "key below `skills.entries`" }),
  bundled: Type.Optional(Type.Boolean()),
  primaryEnv: optionalText,
  emoji: optionalText,
  homepage: optionalText,
  always: Type.Boolean({ description: "eligible without its requirements" }),
  disabled: Type.Boolean({ description: "`skills.entries.<key>.enabled` is false" }),
  blockedByAllowlist: Type.Boolean({ description: "a bundled skill that `skills.allowBundled` does not list" }),
  excludedByAgent: Type.Optional(Type.Boolean({ description: "`agents.list[].skills` does not list it" })),
  outside: Type.Optional(
    Type.Boolean({
      description: "a run that had read external content may have written it; agents are not offered it",
    }),
  ),
  eligible: Type.Boolean(),
  requirements: SkillNeeds,
  missing: SkillNeeds,
  configChecks: Type.Array(Type.Object({ path: Type.String(), satisfied: Type.Boolean() })),
  install: Type.Array(SkillInstaller),
});
export type SkillStatus = Static<typeof SkillStatus>;

/** A folder that was skipped. */
export const SkillProblem = Type.Object({ path: Type.String(), reason: Type.String() });
export type SkillProblem = Static<typeof SkillProblem>;

/** A skill from elsewhere: what it contains, and whether it is installed now. */
export const SkillPackage = Type.Object({
  name: Type.String(),
  description: Type.String(),
  directory: Type.String({ description: "where it is, or would be, installed" }),
  replaces: Type.Boolean({ description: "an installed skill has this directory" }),
  requirements: SkillNeeds,
  install: Type.Array(SkillInstaller),
  files: Type.Array(
    Type.Object({ path: Type.String(), bytes: Type.Integer({ minimum: 0 }), executable: Type.Boolean() }),
  ),
  digest: Type.String({ description: "SHA-256 of names and contents, hex" }),
  installed: Type.Boolean(),
});
export type SkillPackage = Static<typeof SkillPackage>;

/** Skills of an agent, and what they need. */
export const skills = defineContract("skills", {
  status: {
    summary: "List the skills of an agent, and what each one lacks",
    scope: "operator.read",
    params: Strict({
      agentId: Type.Optional(Type.String({ minLength: 1, description: "default: the default agent" })),
    }),
    result: Type.Object({
      workspaceDir: Type.String(),
      managedSkillsDir: Type.String(),
      skills: Type.Array(SkillStatus),
      problems: Type.Optional(Type.Array(SkillProblem, { description: "skipped folders" })),
    }),
  },
  bins: {
    summary: "List the programs that skills use, for the approvals of a node",
    scope: "none",
    role: "node",
    params: Strict({}),
    result: Type.Object({ bins: Type.Array(Type.String(), { description: "sorted" }) }),
  },
  install: {
    summary: "Run an installer of a skill on the gateway",
    scope: "operator.admin",
    params: Strict({
      name: NonEmpty,
      installId: NonEmpty,
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 1_000, description: "milliseconds; default 300000, at most 900000" }),
      ),
    }),
    result: Type.Object({
      ok: Type.Boolean(),
      message: Type.String(),
      stdout: Type.String(),
      stderr: Type.String(),
      code: Type.Union([Type.Integer(), Type.Null()]),
      warnings: Type.Optional(texts),
    }),
  },
  update: {
    summary: "Change the settings of a skill: whether it is enabled, its key and its environment",
    scope: "operator.admin",
    params: Strict({
      skillKey: NonEmpty,
      enabled: Type.Optional(Type.Boolean()),
      apiKey: Type.Optional(Type.String({ description: "blank: removes the key" })),
      env: Type.Optional(
        Type.Record(NonEmpty, Type.String(), { description: "added to the environment; a blank value removes a name" }),
      ),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      skillKey: Type.String(),
      config: Type.Unknown({ description: "the entry in clear text, including `apiKey`" }),
    }),
  },
  add: {
    summary: "Inspect a skill from elsewhere, or install it into the state directory",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      source: Type.String({
        minLength: 1,
        maxLength: 4_096,
        description: "absolute path of a folder or archive on the gateway's machine, an https URL, or `npm:<package>`",
      }),
      name: Type.Optional(Type.String({ minLength: 1, description: "which skill, if the source has several" })),
      digest: Type.Optional(
        Type.String({ description: "`digest` of an earlier answer: installs exactly that; absent: only inspects" }),
      ),
      replace: Type.Optional(Type.Boolean({ description: "replace an installed skill of this name; default false" })),
    }),
    result: SkillPackage,
  },
  remove: {
    summary: "Remove an installed skill and its programs",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ name: NonEmpty }),
    result: Type.Object({ ok: Type.Literal(true), directory: Type.String() }),
  },
});
