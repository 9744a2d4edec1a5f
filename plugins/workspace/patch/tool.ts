/** The tool `apply_patch`. */
import { MAX_FILE_BYTES } from "@svc/kit/files";
import { isGatewayError, type Logger, type Origin, Strict, Type } from "@svc/sdk";
import { defineTool, type ToolResult } from "@svc/sdk/tools";
import { type ChangeSources, changing, effectsOfWrite, writablePlace } from "../files/change.ts";
import { nameWithin } from "../place.ts";
import { type FileChange, parsePatch } from "./parse.ts";
import { type PatchStep, patchSteps } from "./steps.ts";

const DESCRIPTION = `Changes several files of your workspace at once. The whole patch is checked before anything is written.
*** Begin Patch
*** Add File: notes/new.md
+each line of a new file starts with a plus
*** Update File: src/a.ts
*** Move to: src/b.ts
@@ an earlier line of the file, if needed to find the place
 a line that stays
-a line to remove
+a line to add
*** Delete File: old.md
*** End Patch
"Move to" and the text after @@ are optional; "*** End of File" after a hunk anchors it at the end.`;

export function patchTool(sources: ChangeSources, log: Pick<Logger, "warn">) {
  return defineTool({
    description: DESCRIPTION,
    params: Strict({ patch: Type.String({ minLength: 1, maxLength: MAX_FILE_BYTES, description: "The patch" }) }),
    scope: "operator.write",
    effects: async ({ patch }, { call }) =>
      effectsOfWrite(pathsOf(parsePatch(patch)), await writablePlace(call.agentId, sources)),
    brings: "none",
    label: "Apply patch",
    runOnly: true,
    async run({ patch }, context): Promise<ToolResult> {
      const { call, signal, outside } = context;
      const changes = parsePatch(patch);
      const place = await writablePlace(call.agentId, sources);
      for (const path of pathsOf(changes)) await sources.beforeWrite(place.root, nameWithin(path, place));
      const planned = await patchSteps(changes, place);
      signal.throwIfAborted();
      const steps = planned.map((step) => recorded(step, call.agentId, outside?.origin, sources.record));
      const names = steps.flatMap((step) => [...step.names].filter((name) => name !== undefined));
      return changing(names, place, context, sources, () => carryOut(steps, log));
    },
  });
}

function pathsOf(changes: readonly FileChange[]): readonly string[] {
  return changes.flatMap((change) => [
    change.path,
    ...(change.kind === "update" && change.moveTo ? [change.moveTo] : []),
  ]);
}

/** The same step, which also records the origin of its files. */
function recorded(
  step: PatchStep,
  agentId: string,
  origin: Origin | undefined,
  record: ChangeSources["record"],
): PatchStep {
  const { names, isWhole } = step;
  const [name, from] = names;
  return {
    ...step,
    async run() {
      if (origin) await record.mark(agentId, [name], origin);
      else if (from !== undefined) await record.moved(agentId, from, name);
      await step.run();
      if (!origin && isWhole) await record.clear(agentId, [name]);
    },
  };
}

/** Ignores an abort between two files, since a patch applied in part is of no use. */
export async function carryOut(
  steps: readonly Pick<PatchStep, "label" | "run">[],
  log: Pick<Logger, "warn">,
): Promise<ToolResult> {
  const done: string[] = [];
  for (const step of steps) {
    try {
      await step.run();
      done.push(step.label);
    } catch (error) {
      const isRefusal = isGatewayError(error);
      if (!isRefusal)
        log.warn({ err: error }, "a file of a patch could not be written; the rest of the patch is skipped");
      const why = isRefusal ? error.message : "the gateway failed; its log has the reason";
      return partly(done, step.label, why, steps.slice(done.length + 1));
    }
  }
  return { content: [{ type: "text", text: `done:\n${done.join("\n")}` }], details: { done } };
}

function partly(
  done: readonly string[],
  failed: string,
  why: string,
  rest: readonly Pick<PatchStep, "label">[],
): ToolResult {
  const notDone = rest.map(({ label }) => label);
  const list = (title: string, labels: readonly string[]) => `${title}:${["", ...labels].join("\n") || " nothing"}`;
  const text = [
    `the patch was applied in part: ${failed} failed: ${why}`,
    list("done", done),
    list("not done", [failed, ...notDone]),
  ].join("\n");
  return { content: [{ type: "text", text }], details: { done, failed, reason: why, notDone }, isError: true };
}
