// long: runs many threads
/** Stopped transforms leave nothing behind; and the cost of running ones. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { callOf, LIMIT, resultOf, scene } from "./scene.ts";

const FINE = `export default ({ payload }: any) => payload.wait ? new Promise(() => {}) : { text: "fine" };`;
const HERE = { module: "t.ts" };
const THERE = { module: "t.ts", placement: "worker" as const };

/** Threads and watched places of this process. */
const held = () =>
  process.getActiveResourcesInfo().filter((kind) => /Worker|MessagePort|FSEvent|StatWatcher/.test(kind));

/** The runtime needs a moment to release closed handles. */
async function returnsTo(before: readonly string[]): Promise<void> {
  const deadline = Date.now() + 20_000;
  const isMore = () => held().length > before.length && Date.now() < deadline;
  while (isMore()) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(held(), before);
}

describe("stopping", () => {
  it("ends threads and the watch, fails what is under way, and may be repeated", LIMIT, async (t) => {
    const before = held();
    const made = scene(t, { "t.ts": FINE });
    const transforms = await made.configured([HERE, THERE]);
    assert.notDeepEqual(held(), before);
    const underWay = assert.rejects(transforms.run(THERE, callOf({ wait: true })), {
      name: "TransformError",
      message: /stopped or replaced this version/,
    });
    await resultOf(transforms, THERE); // by then the other one has arrived, too
    await Promise.all([transforms.stop(), transforms.stop(), underWay]);
    await returnsTo(before);
    for (const ref of [HERE, THERE])
      await assert.rejects(resultOf(transforms, ref), { name: "TransformError", message: /the gateway is stopping/ });
    await transforms.configure({ root: made.root, directory: ".", refs: [THERE] });
    await transforms.refresh();
    await returnsTo(before);
  });

  it("does not wait for a file that is being looked at", LIMIT, async (t) => {
    const before = held();
    const made = scene(t, { "t.ts": "for (;;);" });
    const transforms = made.gateway({ importMs: 600_000 });
    const configured = transforms.configure({ root: made.root, directory: ".", refs: [HERE] });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await transforms.stop();
    await configured;
    await returnsTo(before);
  });

  it("before anything was configured does nothing", LIMIT, async (t) => {
    const transforms = scene(t).gateway();
    await transforms.stop();
    await assert.rejects(resultOf(transforms, HERE), { name: "TransformError" });
  });
});

it("former versions and plans leave no threads and watches behind", LIMIT, async (t) => {
  const made = scene(t, { "t.ts": FINE, "sub/t.ts": FINE });
  const before = held();
  const transforms = await made.configured([THERE]);
  const settled = held();
  for (let n = 0; n < 4; n += 1) {
    made.write("t.ts", `${FINE}\n// ${n}`);
    await transforms.refresh();
    await resultOf(transforms, THERE);
  }
  await transforms.configure({ root: made.root, directory: "sub", refs: [THERE] });
  await transforms.configure({ root: made.root, directory: ".", refs: [THERE] });
  await returnsTo(settled);
  await transforms.configure({ root: made.root, directory: ".", refs: [] });
  await returnsTo(before);
});

it("the gateway itself never loads the compiler", LIMIT, async (t) => {
  const made = scene(t, { "t.ts": FINE });
  const script = `
    const { createRequire } = await import("node:module");
    const { createTransforms } = await import(process.argv[1]);
    const { systemClock } = await import(process.argv[2]);
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const transforms = createTransforms({ stateDir: process.argv[3], clock: systemClock, log });
    await transforms.configure({ root: process.argv[4], directory: ".", refs: [{ module: "t.ts" }] });
    const call = { payload: {}, headers: {}, url: "http://localhost/", path: "" };
    const outcome = await transforms.run({ module: "t.ts" }, call);
    await transforms.stop();
    const loaded = Object.keys(createRequire(process.argv[1]).cache).filter((file) => file.includes("babel"));
    console.log(JSON.stringify({ outcome, loaded }));
  `;
  const built = join(import.meta.dirname, "../../../..");
  const sources = ["plugins/webhooks/transforms/transforms.js", "host/clock.js"].map((file) => join(built, file));
  const files = [...sources, made.stateDir, made.root];
  for (const _ of ["cold", "warm"]) {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, ...files]);
    assert.deepEqual(JSON.parse(stdout), { outcome: { kind: "result", value: { text: "fine" } }, loaded: [] });
  }
});
