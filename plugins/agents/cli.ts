/** `svc agents ...`: agents, their identities and their files. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { oneLine } from "@svc/kit/identity";
import { GatewayError, invalidRequest, isGatewayError, messageOf, type ParamsOf, type ResultOf } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { askingWith, type CommandContext, defineCommands, show } from "@svc/sdk/cli";
import { detailsCode } from "@svc/sdk/errors";
import { versionVerb } from "./versions/cli.ts";

const READ = ["operator.read"];
const ADMIN = ["operator.read", "operator.admin"];
const ask = askingWith({
  plugin: "agents",
  step(refusal) {
    if (refusal.code !== "NOT_FOUND") return undefined;
    return detailsCode(refusal) === "UNKNOWN_AGENT" ? "svc agents list" : "svc models list";
  },
});

/** Choice: largest file in bytes that `files set` sends; the gateway has the same limit. */
const MAX_FILE_BYTES = 1024 * 1024;

export default defineCommands([
  {
    name: "agents list",
    summary: "List the configured agents",
    examples: ["svc agents list", "svc agents list --json"],
    run: (context) =>
      ask(context, READ, async (client) => show(context, await client.call(agents.list, {}), listLines)),
  },
  {
    name: "agents show",
    summary: "Show an agent's identity and its files",
    args: "<id>",
    examples: ["svc agents show main"],
    run: (context) =>
      ask(context, READ, async (client) => {
        const [agentId = ""] = context.args;
        const files = await client.call(agents.filesList, { agentId });
        const identity = await client.call(agents.identity, { agentId });
        show(context, { ...identity, workspace: files.workspace, files: files.files }, agentLines);
      }),
  },
  {
    name: "agents create",
    summary: "Add an agent with its own workspace",
    args: "<name>",
    options: [
      { flags: "--workspace <dir>", description: "directory for its files; created if it does not exist" },
      { flags: "--emoji <emoji>", description: "shown next to its name" },
      { flags: "--avatar <avatar>", description: "URL, image in the workspace, or up to 4 characters" },
    ],
    examples: [
      "svc agents create Ada --workspace ~/ada",
      'svc agents create "Night watch" --workspace ~/watch --emoji 🌙',
    ],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const params = creation(context);
        const created = await client.call(agents.create, params);
        show(context, created, ({ agentId, workspace }) => [
          `Agent ${agentId} was created; its files are in ${workspace}`,
          `Next: svc agents files ${agentId}`,
        ]);
      }),
  },
  {
    name: "agents update",
    summary: "Change an agent; omitted options keep their value",
    args: "<id>",
    options: [
      { flags: "--name <name>", description: "display name" },
      { flags: "--workspace <dir>", description: "directory for its files; existing files are not moved" },
      { flags: "--model <ref>", description: "provider/id or an alias; fallbacks are kept" },
      { flags: "--avatar <avatar>", description: "URL, image in the workspace, or up to 4 characters" },
    ],
    examples: ['svc agents update ada --name "Ada L."', "svc agents update ada --model openai/gpt-5"],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const updated = await client.call(agents.update, update(context));
        show(context, updated, ({ agentId }) => [`Agent ${agentId} was changed`]);
      }),
  },
  {
    name: "agents delete",
    summary: "Delete an agent; its files move to the trash",
    args: "<id>",
    options: [{ flags: "--keep-files", description: "keep its files and conversations" }],
    examples: ["svc agents delete ada", "svc agents delete ada --keep-files"],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const [agentId = ""] = context.args;
        const deleteFiles = context.options["keepFiles"] !== true;
        show(context, await client.call(agents.delete, { agentId, deleteFiles }), deletedLines);
      }),
  },
  {
    name: "agents files",
    summary: "List, read, write and restore an agent's files, and show who changed them",
    args: "<words...>",
    examples: [
      "svc agents files main",
      "svc agents files get main SOUL.md",
      "svc agents files set main SOUL.md soul.md",
      "svc agents files set main SOUL.md - < soul.md",
      "svc agents files log",
      "svc agents files diff ada SOUL.md 3 5",
      "svc agents files restore SOUL.md 3",
    ],
    help: [
      "<id>                            list the files",
      "get <id> <name>                 print a file",
      "set <id> <name> [file|-]        write a file; default: from standard input",
      "log [id] [name]                 list versions, newest first: time, kind of writer and author",
      "diff [id] <name> [from] [to]    compare two versions; default: the newest and the one before it; 0: no file",
      "restore [id] <name> <version>   restore a version; the current content is stored as a version first",
      "log, diff and restore without id use the default agent.",
    ],
    run: files,
  },
  {
    name: "agents identity",
    summary: "Show an agent's name and picture (default: the default agent)",
    args: "[id]",
    examples: ["svc agents identity", "svc agents identity ada --json"],
    run: (context) =>
      ask(context, READ, async (client) => {
        const [agentId] = context.args;
        show(context, await client.call(agents.identity, agentId === undefined ? {} : { agentId }), identityLines);
      }),
  },
]);

async function files(context: CommandContext): Promise<void> {
  const [first = "", ...rest] = context.args;
  const aboutVersions = versionVerb(first, rest);
  if (aboutVersions) return aboutVersions(context);
  if (rest.length === 0) {
    return ask(context, READ, async (client) =>
      show(context, await client.call(agents.filesList, { agentId: first }), fileLines),
    );
  }
  const [agentId = "", name, source = "-"] = rest;
  if (first === "get" && name !== undefined && rest.length === 2) return getFile(context, agentId, name);
  if (first === "set" && name !== undefined && rest.length <= 3) return setFile(context, agentId, name, source);
  return invalidRequest("unknown command\nNext: svc agents files --help");
}

async function getFile(context: CommandContext, agentId: string, name: string): Promise<void> {
  await ask(context, READ, async (client) => {
    const found = await client.call(agents.filesGet, { agentId, name });
    const { path, missing, content = "" } = found.file;
    if (missing && !context.json) {
      throw new GatewayError(
        "NOT_FOUND",
        `${path} does not exist\nNext: svc agents files set ${agentId} ${name} <file>`,
      );
    }
    show(context, found, () => [content.replace(/\n$/, "")]);
  });
}

async function setFile(context: CommandContext, agentId: string, name: string, source: string): Promise<void> {
  const content = source === "-" ? await readAll(context.input) : await readSource(source);
  await ask(context, ADMIN, async (client) => {
    const written = await client.call(agents.filesSet, { agentId, name, content });
    show(context, written, ({ file }) => [`Wrote ${file.size ?? 0} bytes to ${file.path}`]);
  });
}

async function readSource(source: string): Promise<string> {
  try {
    return whole(await readFile(source));
  } catch (error) {
    if (isGatewayError(error)) throw error;
    const why = messageOf(error);
    return invalidRequest(`${source} cannot be read (${why})\nNext: name another file, or - for standard input`);
  }
}

async function readAll(input: CommandContext["input"]): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    chunks.push(bytes);
    if (size > MAX_FILE_BYTES) break; // `whole` says why
  }
  return whole(Buffer.concat(chunks));
}

/** @throws GatewayError `INVALID_REQUEST` when the file is too large or not UTF-8 */
function whole(bytes: Buffer): string {
  if (bytes.length > MAX_FILE_BYTES)
    invalidRequest(`a file may have at most ${MAX_FILE_BYTES} bytes\nNext: shorten it`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return invalidRequest("the file is not valid UTF-8\nNext: convert it, e.g. with iconv");
  }
}

function creation({ args: [name = ""], options }: CommandContext): ParamsOf<typeof agents.create> {
  const workspace = directoryOption(options);
  if (workspace === undefined) {
    invalidRequest(`an agent needs a directory for its files\nNext: svc agents create "${name}" --workspace <dir>`);
  }
  return { name, workspace, ...textOptions(options, ["emoji", "avatar"]) };
}

function update({ args: [agentId = ""], options }: CommandContext): ParamsOf<typeof agents.update> {
  const workspace = directoryOption(options);
  const texts = textOptions(options, ["name", "model", "avatar"]);
  if (workspace === undefined && Object.keys(texts).length === 0) {
    invalidRequest("nothing to change\nNext: svc agents update --help");
  }
  return { agentId, ...texts, ...(workspace === undefined ? {} : { workspace }) };
}

/** Resolves a relative directory against the current directory; the gateway expands `~`. */
function directoryOption(options: CommandContext["options"]): string | undefined {
  const directory = options["workspace"];
  if (typeof directory !== "string") return undefined;
  return /^~(\/|$)/.test(directory) ? directory : resolve(directory);
}

function textOptions<K extends string>(
  options: CommandContext["options"],
  names: readonly K[],
): Partial<Record<K, string>> {
  const given = names.flatMap((name) => (typeof options[name] === "string" ? [[name, options[name]] as const] : []));
  return Object.fromEntries(given) as Partial<Record<K, string>>; // the keys are `names`
}

type Listed = ResultOf<typeof agents.list>;
type Files = Pick<ResultOf<typeof agents.filesList>, "workspace" | "files">;
type Shown = ResultOf<typeof agents.identity>;
type Deleted = ResultOf<typeof agents.delete>;

/** One line per agent: id, emoji, name, and a mark for the default agent. */
function listLines({ agents: rows, defaultId }: Listed): readonly string[] {
  const width = Math.max(...rows.map(({ id }) => id.length));
  return rows.map(({ id, name, identity }) => {
    const words = [
      id.padEnd(width),
      identity?.emoji,
      name ?? identity?.name,
      id === defaultId ? "(default)" : undefined,
    ];
    return oneLineKeepingColumns(words);
  });
}

function oneLineKeepingColumns([first = "", ...rest]: readonly (string | undefined)[]): string {
  return [first, ...rest.flatMap((word) => (word === undefined ? [] : [oneLine(word)]))].join("  ").trimEnd();
}

function identityLines({ agentId, name, avatar, emoji }: Shown): readonly string[] {
  return [
    `Agent: ${agentId}`,
    `Name: ${oneLine(name)}`,
    `Avatar: ${oneLine(avatar)}`,
    ...(emoji === undefined ? [] : [`Emoji: ${oneLine(emoji)}`]),
  ];
}

function fileLines({ workspace, files }: Files): readonly string[] {
  const width = Math.max(...files.map(({ name }) => name.length));
  return [
    `Workspace: ${workspace}`,
    ...files.map(({ name, missing, size = 0 }) => `  ${name.padEnd(width)}  ${missing ? "missing" : `${size} bytes`}`),
  ];
}

function agentLines(agent: Shown & Files): readonly string[] {
  return [...identityLines(agent), ...fileLines(agent)];
}

function deletedLines({ agentId, removedBindings, trash, kept = [] }: Deleted): readonly string[] {
  return [
    `Agent ${agentId} was deleted`,
    ...(removedBindings > 0 ? [`Bindings removed with it: ${removedBindings}`] : []),
    ...(trash === undefined ? [] : [`Its files are in ${trash}`]),
    ...kept.map((line) => `Kept: ${oneLine(line)}`),
  ];
}
