/** The tool `read`. */
import { readWithin } from "@svc/kit/files";
import { invalidRequest, notFound, Strict, Type } from "@svc/sdk";
import type { FileOrigins } from "@svc/sdk/files";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import { withDiskRefusals } from "../disk-refusal.ts";
import { nameWithin, placeOf, type PlaceSources } from "../place.ts";
import { sniffImage } from "@svc/kit/media";
import { textOfBytes } from "./content.ts";
import { MAX_LINES, pageOf } from "./page.ts";

/** Choice: maximum bytes read of a file, and of a picture. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

export const PathParam = Type.String({
  minLength: 1,
  maxLength: 4_096,
  description: "File in your workspace: relative to it, or absolute and inside it",
});

export function readTool(sources: PlaceSources & { readonly record: FileOrigins }) {
  return defineTool({
    description:
      "Reads a file of your workspace: text, or a picture (png, jpeg, gif, webp). Long files are cut; a note says how to continue.",
    params: Strict({
      path: PathParam,
      offset: Type.Optional(Type.Integer({ minimum: 1, description: "First line, from 1; default 1" })),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_LINES, description: `Maximum lines; default ${MAX_LINES}` }),
      ),
    }),
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    label: "Read file",
    runOnly: true,
    async run({ path, offset, limit }, { call }): Promise<ToolResult> {
      const place = await placeOf(call.agentId, sources, false);
      const name = place && nameWithin(path, place);
      const file = place && name && (await withDiskRefusals(path, () => readWithin(place.root, name, MAX_BYTES)));
      if (!file)
        return name === ""
          ? invalidRequest(`${path} is a directory`)
          : notFound(`there is no file ${path} in the workspace`);
      const { bytes, stats, isCut } = file;
      const about = { path: name, size: stats.size };
      const origin = await sources.record.of(call.agentId, [name]);
      const whose = origin ? { origin } : {};
      const mimeType = sniffImage(bytes);
      if (mimeType !== undefined) {
        if (stats.size > MAX_IMAGE_BYTES) {
          invalidRequest(
            `${path} has ${stats.size} bytes; pictures may have at most ${MAX_IMAGE_BYTES}, make it smaller first`,
          );
        }
        const note = { type: "text" as const, text: `${path}: ${mimeType}, ${stats.size} bytes` };
        return {
          content: [note, { type: "image", data: bytes.toString("base64"), mimeType }],
          details: { ...about, mimeType },
          ...whose,
        };
      }
      const text = textOfBytes(bytes, isCut);
      if (text === undefined) {
        return invalidRequest(
          `${path} is a binary file of ${stats.size} bytes; only UTF-8 text and pictures can be read`,
        );
      }
      const { text: shown, ...page } = pageOf(text, { offset, limit }, isCut);
      return { content: [{ type: "text", text: shown }], details: { ...about, ...page }, ...whose };
    },
  });
}
