/** `svc skills ...`: skills of agents. */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { GatewayError, invalidRequest } from "@svc/sdk";
import {
  askYes,
  type CommandContext,
  commandText,
  cut,
  defineCommands,
  isTerminal,
  show,
  table,
  visible,
  withGateway,
} from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { type SkillPackage, type SkillStatus, skills } from "@svc/sdk/skills";
import { obstacles } from "./library/eligibility.ts";

const READ = ["operator.read"];
const ADMIN = ["operator.admin"];
const ADD_MS = 150_000;
const INSTALL_MS = 900_000;

const AGENT = { flags: "--agent <id>", description: "agent; default: the default agent" };

export default defineCommands([
  {
    name: "skills list",
    summary: "List the skills of an agent, and whether it can use them",
    options: [AGENT, { flags: "--eligible", description: "only skills that the agent can use" }],
    examples: ["svc skills list", "svc skills list --eligible --agent main --json"],
    run: (context) =>
      withStatus(context, (status) => {
        const isWanted = (skill: SkillStatus) => context.options["eligible"] !== true || skill.eligible;
        show(context, { ...status, skills: status.skills.filter(isWanted) }, ({ skills: all }) =>
          all.length === 0
            ? ["No skills. Next: svc skills install <folder, archive, URL or npm:<package>>"]
            : table([
                ["SKILL", "STATE", "SOURCE", "DESCRIPTION"],
                ...all.map((one) => [visible(one.name), stateOf(one), one.source, cut(visible(one.description), 80)]),
              ]),
        );
      }),
  },
  {
    name: "skills info",
    summary: "Show a skill, what it needs and what is missing",
    args: "<name>",
    options: [AGENT],
    examples: ["svc skills info media-cut"],
    run: (context) => withStatus(context, (status) => show(context, named(status.skills, context), infoLines)),
  },
  {
    name: "skills check",
    summary: "Explain why skills cannot be used or were skipped, and the next step",
    options: [AGENT],
    examples: ["svc skills check", "svc skills check --agent main"],
    run: (context) =>
      withStatus(context, ({ skills: all, problems = [] }) => {
        const blocked = all
          .filter(({ eligible }) => !eligible)
          .map((one) => ({ name: one.name, obstacles: obstacles(one) }));
        const usable = all.length - blocked.length;
        show(context, { usable, blocked, problems }, () => [
          `${usable} of ${all.length} skills can be used.`,
          ...blocked.flatMap(({ name, obstacles: found }) => [
            `${visible(name)}:`,
            ...found.map(({ why, next }) => `  ${visible(why)}. Next: ${visible(next)}`),
          ]),
          ...problems.map(({ path, reason }) => `Skipped ${visible(path)}: ${visible(reason)}`),
        ]);
      }),
  },
  {
    name: "skills install",
    summary: "Install the programs of a skill, or a skill from a folder, an archive, a URL or npm",
    args: "<what>",
    options: [
      { flags: "--installer <id>", description: "installer of a known skill; default: the first one that works" },
      { flags: "--skill <name>", description: "which skill, if the source has several" },
      { flags: "--force", description: "replace an installed skill of the same name" },
      { flags: "--yes", description: "install without asking" },
    ],
    help: [
      "<what> is the name of a known skill, whose programs are then installed; or ./folder, ./skill.zip, ./skill.tgz,",
      "https://..., npm:<package>. Paths are paths of the gateway's machine. Install only skills whose author you trust:",
      "agents follow their instructions and run their programs.",
    ],
    examples: [
      "svc skills install github",
      "svc skills install ./my-skill",
      "svc skills install npm:@acme/skill --yes",
    ],
    run: (context) =>
      withGateway(context, ADMIN, async (client) => {
        const [what = ""] = context.args;
        return isSource(what) ? add(context, client, what) : installPrograms(context, client, what);
      }),
  },
  {
    name: "skills remove",
    summary: "Remove an installed skill and its programs",
    args: "<name>",
    examples: ["svc skills remove my-skill"],
    run: (context) =>
      withGateway(context, ADMIN, async (client) => {
        const [name = ""] = context.args;
        const removed = await client.call(skills.remove, { name });
        show(context, removed, ({ directory }) => [`Removed ${visible(directory)}`]);
      }),
  },
  {
    name: "skills new",
    summary: "Create the folder of a new skill",
    args: "<name>",
    isLocal: true,
    options: [{ flags: "--dir <directory>", description: "directory of skills; default: that of installed skills" }],
    examples: ["svc skills new release-notes", "svc skills new release-notes --dir ~/.agents/skills"],
    run: create,
  },
]);

type Status = Awaited<ReturnType<typeof statusFrom>>;

function statusFrom(context: CommandContext, client: GatewayClient) {
  const { agent } = context.options;
  return client.call(skills.status, typeof agent === "string" ? { agentId: agent } : {});
}

function withStatus(context: CommandContext, work: (status: Status) => void): Promise<void> {
  return withGateway(context, READ, async (client) => work(await statusFrom(context, client)));
}

function named(all: readonly SkillStatus[], { args: [name = ""] }: CommandContext): SkillStatus {
  const found = all.find((skill) => skill.name === name);
  return found ?? invalidRequest(`there is no skill ${JSON.stringify(name)}\nNext: svc skills list`);
}

function stateOf(skill: SkillStatus): string {
  return skill.eligible ? "ready" : skill.disabled ? "disabled" : "not ready";
}

function infoLines(skill: SkillStatus): readonly string[] {
  const { bins, anyBins, env, config, os } = skill.requirements;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["description", skill.description],
    ["state", stateOf(skill)],
    ["file", skill.filePath],
    ["source", skill.source],
    ["homepage", skill.homepage],
    ["settings", `skills.entries.${skill.skillKey}`],
    ["programs", bins.join(", ")],
    ["one of", anyBins.join(", ")],
    ["variables", env.join(", ")],
    ["key", skill.primaryEnv],
    ["configuration", config.join(", ")],
    ["systems", os.join(", ")],
    ["installers", skill.install.map(({ id, label }) => `${id} (${label})`).join(", ")],
  ];
  return [
    [skill.emoji, visible(skill.name)].filter(Boolean).join(" "),
    ...rows.flatMap(([name, value]) => (value ? [`  ${name.padEnd(14)}${visible(value)}`] : [])),
    ...obstacles(skill).map(({ why, next }) => `  ${visible(why)}. Next: ${visible(next)}`),
  ];
}

/** A path, an address or a package; the name of a skill has neither a slash nor the ending of an archive. */
function isSource(what: string): boolean {
  return /[/\\]|^npm:|\.(?:zip|tgz|tar\.gz)$/i.test(what);
}

async function installPrograms(context: CommandContext, client: GatewayClient, name: string): Promise<number> {
  const status = named((await client.call(skills.status, {})).skills, context);
  const { installer } = context.options;
  const ids = typeof installer === "string" ? [installer] : status.install.map(({ id }) => id);
  if (ids.length === 0) {
    context.note(`${visible(name)} has no installer; svc skills check says what is missing`);
    return 1;
  }
  const failures: string[] = [];
  for (const installId of ids) {
    try {
      const done = await client.call(
        skills.install,
        { name, installId, timeoutMs: INSTALL_MS },
        { timeoutMs: INSTALL_MS + 10_000 },
      );
      show(context, done, ({ message, warnings = [] }) => [
        `${visible(installId)}: ${visible(message)}`,
        ...warnings.map(visible),
      ]);
      return 0;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failures.push(`${installId}: ${error.message}`);
    }
  }
  throw new GatewayError("UNAVAILABLE", failures.join("\n"));
}

/** Shows what the source has, and installs exactly that after a yes. */
async function add(context: CommandContext, client: GatewayClient, what: string): Promise<number> {
  const source = /^npm:|^[a-z][a-z0-9+.-]+:\/\//i.test(what) ? what : resolve(what);
  const { skill, force, yes } = context.options;
  const params = {
    source,
    ...(typeof skill === "string" && { name: skill }),
    ...(force === true && { replace: true }),
  };
  const about = await client.call(skills.add, params, { timeoutMs: ADD_MS });
  if (!context.json) for (const line of packageLines(about)) context.print(line);
  if (about.replaces && force !== true) {
    context.note(`${visible(about.name)} is already installed. Next: ${nextInstall(what)} --force`);
    return 1;
  }
  if (yes !== true) {
    if (!isTerminal(context.input)) {
      context.note("Nothing was installed. Next: check the files above, then add --yes");
      return 1;
    }
    if (!(await askYes(`Install it into ${visible(about.directory)}?`, context))) return 1;
  }
  const done = await client.call(skills.add, { ...params, digest: about.digest }, { timeoutMs: ADD_MS });
  show(context, done, ({ directory, install, name }) => [
    `Installed ${visible(directory)}`,
    ...(install.length > 0 ? [`Next: ${nextInstall(name)}`] : []),
  ]);
  return 0;
}

function nextInstall(what: string): string {
  return visible(commandText(["svc", "skills", "install", what]));
}

function packageLines({
  name,
  description,
  files,
  install,
  requirements: { bins, env },
}: SkillPackage): readonly string[] {
  return [
    `${visible(name)}: ${visible(description)}`,
    ...(bins.length > 0 ? [`  needs the programs ${visible(bins.join(", "))}`] : []),
    ...(env.length > 0 ? [`  needs the variables ${visible(env.join(", "))}`] : []),
    ...install.map(({ label }) => `  can install: ${visible(label)}`),
    ...files.map(
      ({ path, bytes, executable }) => `  ${visible(path)} (${bytes} bytes${executable ? ", executable" : ""})`,
    ),
  ];
}

async function create(context: CommandContext): Promise<void> {
  const [name = ""] = context.args;
  if (!/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/.test(name)) {
    invalidRequest("the name of a skill has up to 64 lower-case letters, digits and -, e.g. release-notes");
  }
  const { dir } = context.options;
  const directory = join(typeof dir === "string" ? resolve(dir) : join(context.stateDir, "skills"), name);
  if (await stat(directory).catch(() => undefined)) invalidRequest(`${directory} exists already; choose another name`);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, "SKILL.md");
  await writeFile(path, scaffold(name), { flag: "wx", mode: 0o600 });
  show(context, { path }, () => [
    `Created ${visible(path)}. Next: write its description and instructions, then svc skills info ${name}`,
  ]);
}

function scaffold(name: string): string {
  return `---
name: ${name}
description: What this skill does, and when to use it.
metadata:
  svc:
    requires:
      bins: []
---

# ${name}

Write the steps here. Name each command exactly. Files beside this one belong to the skill; refer to them as
\`{baseDir}/file\`.
`;
}
