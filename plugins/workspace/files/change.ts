/** The tools `write` and `edit`. */
import { isAbsolute, relative } from "node:path";
import { MAX_FILE_BYTES, readWithin, statWithin, writeWithin } from "@svc/kit/files";
import { invalidRequest, notFound, Strict, Type, unavailable } from "@svc/sdk";
import { isIdentityFile } from "@svc/sdk/agents";
import { defineTool, type ToolEffect, type ToolResult } from "@svc/sdk/tools";
import { withDiskRefusals } from "../disk-refusal.ts";
import type { FileHolds } from "./file-holds.ts";
import type { OriginRecord } from "../origins/record.ts";
import { nameWithin, type Place, placeOf, type PlaceSources, type WriteSources } from "../place.ts";
import { textOfBytes } from "./content.ts";
import { PathParam } from "./read.ts";
import { replaced } from "./replace.ts";
import type { VersionKeeper } from "./versions.ts";

export interface ChangeSources extends WriteSources {
  readonly record: Pick<OriginRecord, "mark" | "clear" | "moved">;
  readonly keepVersions: VersionKeeper;
  readonly holds: Pick<FileHolds, "write">;
}

/** Runs a write once no starting command needs these files, and stores versions of identity files. */
export function changing<T>(
  names: readonly string[],
  { root }: Pick<Place, "root">,
  context: Parameters<VersionKeeper>[0],
  { holds, keepVersions }: Pick<ChangeSources, "holds" | "keepVersions">,
  write: () => Promise<T>,
): Promise<T> {
  return holds.write(root, names, () => keepVersions(context, names, write));
}

/** The workspace, created when missing. */
export async function writablePlace(agentId: string, sources: PlaceSources): Promise<Place> {
  return (await placeOf(agentId, sources, true)) ?? unavailable("the workspace was removed meanwhile; try again");
}

/** Effects of a write to these files. */
export function effectsOfWrite(
  paths: readonly string[],
  { workspace }: Pick<Place, "workspace">,
): readonly ToolEffect[] {
  const isIdentity = paths.some((path) => isIdentityFile(isAbsolute(path) ? relative(workspace, path) : path));
  return isIdentity ? ["writes-workspace", "writes-identity"] : ["writes-workspace"];
}

export function writeTool(sources: ChangeSources) {
  return defineTool({
    description:
      "Writes a whole file of your workspace, replacing an existing one. Missing directories are created. To change a part of a file, use edit.",
    params: Strict({
      path: PathParam,
      content: Type.String({ maxLength: MAX_FILE_BYTES, description: "Whole content of the file; at most 1 MiB" }),
    }),
    scope: "operator.write",
    effects: async ({ path }, { call }) => effectsOfWrite([path], await writablePlace(call.agentId, sources)),
    brings: "none",
    label: "Write file",
    runOnly: true,
    async run({ path, content }, context): Promise<ToolResult> {
      const { call, outside } = context;
      const place = await writablePlace(call.agentId, sources);
      const name = nameWithin(path, place);
      await sources.beforeWrite(place.root, name);
      const write = async () => {
        const isNew = (await statWithin(place.root, name)) === undefined;
        if (outside) await sources.record.mark(call.agentId, [name], outside.origin);
        const { size } = await writeWithin(place.root, name, content, { mode: "kept" });
        if (!outside) await sources.record.clear(call.agentId, [name]);
        const text = `${isNew ? "created" : "replaced"} ${name}: ${size} bytes`;
        return { content: [{ type: "text" as const, text }], details: { path: name, size, created: isNew } };
      };
      return changing([name], place, context, sources, () => withDiskRefusals(path, write));
    },
  });
}

export function editTool(sources: ChangeSources) {
  return defineTool({
    description:
      "Replaces a passage of a text file of your workspace. oldText must occur exactly as given, and only once unless replaceAll is set.",
    params: Strict({
      path: PathParam,
      oldText: Type.String({
        minLength: 1,
        maxLength: MAX_FILE_BYTES,
        description: "The passage, exactly as it is in the file",
      }),
      newText: Type.String({ maxLength: MAX_FILE_BYTES, description: "Text that replaces the passage" }),
      replaceAll: Type.Optional(Type.Boolean({ description: "Replace every occurrence; default false" })),
    }),
    scope: "operator.write",
    effects: async ({ path }, { call }) => effectsOfWrite([path], await writablePlace(call.agentId, sources)),
    brings: "none",
    label: "Edit file",
    runOnly: true,
    async run({ path, ...change }, context): Promise<ToolResult> {
      const { call, outside } = context;
      const place = await writablePlace(call.agentId, sources);
      const name = nameWithin(path, place);
      await sources.beforeWrite(place.root, name);
      const edit = async () => {
        const file = await readWithin(place.root, name);
        if (!file) return notFound(`there is no file ${path} in the workspace; create it with write`);
        const former = textOfBytes(file.bytes) ?? invalidRequest(`${path} is a binary file; only text can be edited`);
        const { text, count } = replaced(former, change, path);
        if (outside) await sources.record.mark(call.agentId, [name], outside.origin);
        await writeWithin(place.root, name, text, { mode: "kept", expected: file.stats });
        const line = former.slice(0, former.indexOf(change.oldText)).split("\n").length;
        const said =
          count === 1 ? `replaced 1 passage of ${name}, line ${line}` : `replaced ${count} passages of ${name}`;
        return {
          content: [{ type: "text" as const, text: said }],
          details: { path: name, replacements: count, firstLine: line },
        };
      };
      return changing([name], place, context, sources, () => withDiskRefusals(path, edit));
    },
  });
}
