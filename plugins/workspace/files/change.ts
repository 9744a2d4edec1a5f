/** The tools `write` and `edit`. */
import { MAX_FILE_BYTES, readWithin, statWithin, writeWithin } from "@svc/kit/files";
import { invalidRequest, notFound, Strict, Type, unavailable } from "@svc/sdk";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import { withDiskRefusals } from "../disk-refusal.ts";
import { nameWithin, type Place, placeOf, type PlaceSources, type WriteSources } from "../place.ts";
import { textOfBytes } from "./content.ts";
import { PathParam } from "./read.ts";
import { replaced } from "./replace.ts";

/** The workspace, made when it is missing. */
export async function writablePlace(agentId: string, sources: PlaceSources): Promise<Place> {
  return (await placeOf(agentId, sources, true)) ?? unavailable("the workspace was removed meanwhile; try again");
}

export function writeTool(sources: WriteSources) {
  return defineTool({
    description:
      "Writes a whole file of your workspace, in the place of what was there. Directories on the way are made. For a change of a part, use edit.",
    params: Strict({
      path: PathParam,
      content: Type.String({ maxLength: MAX_FILE_BYTES, description: "All of the file; at most 1 MiB" }),
    }),
    scope: "operator.write",
    label: "Write file",
    runOnly: true,
    async run({ path, content }, { call }): Promise<ToolResult> {
      const place = await writablePlace(call.agentId, sources);
      const name = nameWithin(path, place);
      await sources.beforeWrite(place.root, name);
      return withDiskRefusals(path, async () => {
        const isNew = (await statWithin(place.root, name)) === undefined;
        const { size } = await writeWithin(place.root, name, content, { mode: "kept" });
        const text = `${isNew ? "made" : "replaced"} ${name}: ${size} bytes`;
        return { content: [{ type: "text", text }], details: { path: name, size, created: isNew } };
      });
    },
  });
}

export function editTool(sources: WriteSources) {
  return defineTool({
    description:
      "Replaces a passage of a text file of your workspace. oldText has to be there exactly as given, and once, unless replaceAll is set.",
    params: Strict({
      path: PathParam,
      oldText: Type.String({
        minLength: 1,
        maxLength: MAX_FILE_BYTES,
        description: "The passage, exactly as it stands there",
      }),
      newText: Type.String({ maxLength: MAX_FILE_BYTES, description: "What stands there afterwards" }),
      replaceAll: Type.Optional(Type.Boolean({ description: "Each occurrence; default false" })),
    }),
    scope: "operator.write",
    label: "Edit file",
    runOnly: true,
    async run({ path, ...change }, { call }): Promise<ToolResult> {
      const place = await writablePlace(call.agentId, sources);
      const name = nameWithin(path, place);
      await sources.beforeWrite(place.root, name);
      return withDiskRefusals(path, async () => {
        const file = await readWithin(place.root, name);
        if (!file) return notFound(`there is no file ${path} in the workspace; make it with write`);
        const former = textOfBytes(file.bytes) ?? invalidRequest(`${path} is a binary file; only text can be edited`);
        const { text, count } = replaced(former, change, path);
        await writeWithin(place.root, name, text, { mode: "kept", expected: file.stats });
        const line = former.slice(0, former.indexOf(change.oldText)).split("\n").length;
        const said =
          count === 1 ? `replaced 1 passage of ${name}, line ${line}` : `replaced ${count} passages of ${name}`;
        return {
          content: [{ type: "text", text: said }],
          details: { path: name, replacements: count, firstLine: line },
        };
      });
    },
  });
}
