/** The tool `apply_patch`. */
import { MAX_FILE_BYTES } from "@svc/kit/files";
import { isGatewayError, type Logger, Strict, Type } from "@svc/sdk";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import { writablePlace } from "../files/change.ts";
import { nameWithin, type WriteSources } from "../place.ts";
import { type FileChange, parsePatch } from "./parse.ts";
import { type PatchStep, patchSteps } from "./steps.ts";

const DESCRIPTION = `Changes several files of your workspace at once. All of it is checked before anything is written.
*** Begin Patch
*** Add File: notes/new.md
+each line of a new file with a plus
*** Update File: src/a.ts
*** Move to: src/b.ts
@@ a line of the file that comes before, where it is needed to find the place
 a line that stays
-a line that goes
+a line that comes
*** Delete File: old.md
*** End Patch
"Move to" and the text after @@ may be left out; "*** End of File" after a hunk ties it to the end.`;

export function patchTool(sources: WriteSources, log: Pick<Logger, "warn">) {
  return defineTool({
    description: DESCRIPTION,
    params: Strict({ patch: Type.String({ minLength: 1, maxLength: MAX_FILE_BYTES, description: "The patch" }) }),
    scope: "operator.write",
    label: "Apply patch",
    runOnly: true,
    async run({ patch }, { call, signal }): Promise<ToolResult> {
      const changes = parsePatch(patch);
      const place = await writablePlace(call.agentId, sources);
      for (const path of changes.flatMap(pathsOf)) await sources.beforeWrite(place.root, nameWithin(path, place));
      const steps = await patchSteps(changes, place);
      signal.throwIfAborted();
      return carryOut(steps, log);
    },
  });
}

function pathsOf(change: FileChange): readonly string[] {
  return change.kind === "update" && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path];
}

/** Does not stop for an abort between two files: half a patch helps nobody. */
export async function carryOut(steps: readonly PatchStep[], log: Pick<Logger, "warn">): Promise<ToolResult> {
  const done: string[] = [];
  for (const step of steps) {
    try {
      await step.run();
      done.push(step.label);
    } catch (error) {
      const isRefusal = isGatewayError(error);
      if (!isRefusal) log.warn({ err: error }, "a file of a patch could not be written");
      const why = isRefusal ? error.message : "the gateway failed; its log says why";
      return partly(done, step.label, why, steps.slice(done.length + 1));
    }
  }
  return { content: [{ type: "text", text: `done:\n${done.join("\n")}` }], details: { done } };
}

function partly(done: readonly string[], failed: string, why: string, rest: readonly PatchStep[]): ToolResult {
  const notDone = rest.map(({ label }) => label);
  const list = (title: string, labels: readonly string[]) => `${title}:${["", ...labels].join("\n") || " nothing"}`;
  const text = [
    `the patch was carried out in part: ${failed} failed: ${why}`,
    list("done", done),
    list("not done", [failed, ...notDone]),
  ].join("\n");
  return { content: [{ type: "text", text }], details: { done, failed, reason: why, notDone }, isError: true };
}
