/** The configuration section `skills`. Spec: http/config-keys.md `skills.*`; defaults are choices. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const count = (value: number, minimum: number, description: string) =>
  Type.Integer({ default: value, minimum, description });

const Entry = Strict({
  enabled: Type.Optional(Type.Boolean({ description: "false: no agent can use the skill; default true" })),
  apiKey: Type.Optional(
    SecretSetting({
      description: "key of the skill, or a reference to it; its commands get it as the variable named by `primaryEnv`",
    }),
  ),
  env: Type.Optional(
    Type.Record(Type.String(), SecretSetting(), {
      propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
      description: "variables of the skill's commands: texts or references to secrets; always hidden",
    }),
  ),
  config: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "settings for the skill's own use; the gateway does not read them",
    }),
  ),
});

/** Section `skills`. */
export const SkillsConfig = Strict(
  {
    allowBundled: Type.Optional(
      Type.Array(NonEmpty, {
        description: "bundled skills that may be used, by name; empty: none; absent: all",
        reload: "hot",
      }),
    ),
    load: Strict(
      {
        extraDirs: Type.Array(NonEmpty, {
          default: [],
          description: "further directories with skills, absolute or below `~`; every other source takes precedence",
        }),
        watch: Type.Boolean({
          default: true,
          description: "true: a changed SKILL.md takes effect at the next run; false: when the configuration changes",
        }),
        watchDebounceMs: count(250, 0, "milliseconds for which the skills are not checked again; 0: at every run"),
      },
      { default: {}, reload: "hot", description: "where skills are read from" },
    ),
    install: Strict(
      {
        preferBrew: Type.Boolean({
          default: true,
          description: "list the installer `brew` first if that program exists",
        }),
        nodeManager: Type.Enum(["npm", "pnpm", "yarn", "bun"], {
          default: "npm",
          description: "program that installs packages of Node; install scripts never run",
        }),
        allowSystem: Type.Boolean({
          default: false,
          description: "true: run brew and apt, which change this machine; false: only print their command",
        }),
      },
      { default: {}, reload: "hot", description: "how programs of skills are installed" },
    ),
    limits: Strict(
      {
        maxCandidatesPerRoot: count(300, 1, "folders that are examined in one directory"),
        maxSkillsLoadedPerSource: count(200, 1, "skills of one source"),
        maxSkillsInPrompt: count(150, 0, "skills listed in a prompt; 0: none"),
        maxSkillsPromptChars: count(30_000, 0, "characters of the list in a prompt; 0: no list"),
        maxSkillFileBytes: Type.Integer({
          default: 256_000,
          minimum: 0,
          maximum: 1_048_576,
          description: "bytes of a SKILL.md; larger ones are skipped; 0: all are",
        }),
      },
      { default: {}, reload: "hot", description: "limits of reading and listing skills" },
    ),
    entries: Type.Record(NonEmpty, Entry, { default: {}, reload: "hot", description: "settings of skills by key" }),
  },
  { title: "Skills", description: "Instructions for particular tasks", order: 200 },
);

export type SkillsConfig = Static<typeof SkillsConfig>;
export type SkillEntry = Static<typeof Entry>;
