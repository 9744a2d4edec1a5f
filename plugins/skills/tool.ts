/** The tool `skill`: lists the skills of the agent, and reads their files. */
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { invalidRequest, notFound, Strict, Type } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import type { Library } from "./library/library.ts";
import { bodyOf } from "./library/manifest.ts";
import { requireUsable } from "./library/eligibility.ts";
import { FILE, readSkillFile, type Skill } from "./library/sources.ts";

/** Choice: characters of one answer, and named files. */
const MAX_CHARS = 30_000;
const MAX_FILES = 50;

export function skillTool(library: () => Promise<Library>) {
  return defineTool({
    label: "Read skill",
    description:
      "Reads the instructions of a skill, or another file of it. Without a name, lists your skills. Long files are cut; a note says how to continue.",
    params: Strict({
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: "Name of the skill" })),
      path: Type.Optional(
        Type.String({ minLength: 1, maxLength: 512, description: `File of the skill, relative; default ${FILE}` }),
      ),
      offset: Type.Optional(Type.Integer({ minimum: 0, description: "Characters to skip; default 0" })),
    }),
    scope: "operator.read",
    effects: ["reads"],
    brings: "none",
    runOnly: true,
    async run({ name, path = FILE, offset = 0 }, { call }): Promise<ToolResult> {
      const skills = await library();
      if (name === undefined) return said(await listText(skills, call.agentId));
      const { skill, status } = await skills.find(call.agentId, name);
      // Content of others may be read; its origin goes with it.
      requireUsable({ ...status, outside: false });
      const file = await fileOf(skill, path);
      const origin = await skills.originOf(join(skill.baseDir, path));
      const isMain = path === FILE;
      const whole = (isMain ? bodyOf(file) : file).replaceAll("{baseDir}", skill.baseDir);
      const text = whole.slice(offset, offset + MAX_CHARS);
      const rest = whole.length - offset - text.length;
      const notes = [
        ...(rest > 0 ? [`[${rest} more characters: offset ${offset + text.length}]`] : []),
        ...(isMain && offset === 0 ? await aboutFolder(skill) : []),
      ];
      return { ...said([text, ...notes].join("\n\n"), { name, path, size: whole.length }), ...(origin && { origin }) };
    },
  });
}

function said(text: string, details?: object): ToolResult {
  return { content: [{ type: "text", text }], ...(details && { details }) };
}

async function listText(skills: Library, agentId: string): Promise<string> {
  const usable = (await skills.of(agentId)).all.filter(({ status }) => status.eligible);
  const lines = usable.map(({ skill }) => `- ${skill.name}: ${skill.description}`);
  return lines.length === 0 ? "There are no skills." : lines.join("\n").slice(0, MAX_CHARS);
}

/** @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` for a link, a path that leads out, or a file that is not text */
async function fileOf(skill: Skill, path: string): Promise<string> {
  const { bytes } = (await readSkillFile(skill, path)) ?? notFound(`the skill has no file ${JSON.stringify(path)}`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return invalidRequest(`${path} is not UTF-8 text; use it with a command`);
  }
}

/** The directory and the other files, which the instructions may name. */
async function aboutFolder({ baseDir }: Skill): Promise<string[]> {
  const names: string[] = [];
  const folders = [baseDir];
  for (let folder = folders.shift(); folder !== undefined && names.length <= MAX_FILES; folder = folders.shift()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const below = relative(baseDir, join(folder, entry.name));
      if (entry.isFile() && below !== FILE) names.push(visible(below));
      else if (entry.isDirectory() && !entry.name.startsWith(".") && below.split("/").length < 4)
        folders.push(join(folder, entry.name));
    }
    folders.length = Math.min(folders.length, MAX_FILES);
  }
  const shown = names.slice(0, MAX_FILES);
  const more = names.length > shown.length ? ", and more" : "";
  const files = shown.length === 0 ? "" : ` Its other files: ${shown.join(", ")}${more}.`;
  return [`[The directory of this skill is ${baseDir}.${files}]`];
}
