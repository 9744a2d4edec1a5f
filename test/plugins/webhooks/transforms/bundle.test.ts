/** The bundled entry point of the threads. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { Worker } from "node:worker_threads";
import type { CheckReport, CheckTask } from "../../../../plugins/webhooks/transforms/messages.ts";
import { root } from "../../../checkout.ts";
import { LIMIT, scene } from "./scene.ts";

it("the bundled entry of the threads checks a transform", LIMIT, async (t) => {
  const { stateDir } = scene(t);
  const text = `import { Type } from "@svc/sdk/transform";\nexport default () => ({ text: Type ? "a" : "b" });`;
  writeFileSync(join(stateDir, "t.ts.ts"), text);
  const task: CheckTask = {
    kind: "check",
    copy: { directory: "/x", place: stateDir, known: { files: new Set(["t.ts"]), refused: new Map() } },
    candidates: [{ key: "k", module: "t.ts", export: undefined, timeoutMs: 5_000, path: "" }],
    importMs: 60_000,
  };
  const worker = new Worker(join(root, "plugins/webhooks/dist/transform-worker.js"), { workerData: task });
  const reports: CheckReport[] = [];
  worker.on("message", (report: CheckReport) => reports.push(report));
  await once(worker, "exit");
  assert.deepEqual(
    reports.map(({ kind }) => kind),
    ["step", "step", "passed"],
  );
});
