/** The directory changes while it is read. */
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { startThread } from "../../../../plugins/webhooks/transforms/thread.ts";
import { readTree } from "../../../../plugins/webhooks/transforms/tree.ts";
import { LIMIT, resultOf, type Scene, scene } from "./scene.ts";

const GOOD = `export default () => ({ text: "good" });`;
const EVIL = `export default () => ({ text: "evil" });`;
const READINGS = 300;

/** Swaps two names repeatedly, alternating with reads. @returns a function that stops it */
function exchange(one: string, other: string): () => void {
  let on = true;
  const turn = () => {
    if (!on) return;
    renameSync(one, `${one}.aside`);
    renameSync(other, one);
    renameSync(`${one}.aside`, other);
    setImmediate(turn);
  };
  turn();
  return () => (on = false);
}

describe("bytes from elsewhere are never taken", () => {
  const cases: [what: string, place: string, evil: (made: Scene, at: string) => void][] = [
    ["when a file becomes a link", "lib/t.ts", ({ root }, at) => symlinkSync(join(root, "../outside/t.ts"), at)],
    ["when its directory becomes a link", "lib", ({ root }, at) => symlinkSync(join(root, "../outside"), at)],
  ];
  for (const [what, place, makeEvil] of cases)
    it(what, LIMIT, async (t) => {
      const made = scene(t, { "lib/t.ts": GOOD });
      mkdirSync(join(made.root, "../outside"));
      writeFileSync(join(made.root, "../outside/t.ts"), EVIL);
      const aside = join(dirname(made.root), "aside");
      makeEvil(made, aside);
      const stop = exchange(join(made.root, place), aside);
      const seen = new Set<string>();
      for (let n = 0; n < READINGS; n += 1) {
        const tree = await readTree(made.root, ".");
        if (tree.kind === "tree") seen.add(tree.files.get("lib/t.ts")?.toString() ?? "none");
      }
      stop();
      assert.equal(seen.has(EVIL), false);
      assert.ok(seen.size > 0);
    });
});

it("what was checked is what runs, whatever lies on the disk by then", LIMIT, async (t) => {
  const made = scene(t, {
    "t.ts": `import { word } from "./word.ts";\nexport default () => ({ text: word });`,
    "word.ts": `export const word = "good";`,
  });
  const outside = join(dirname(made.root), "outside.ts");
  writeFileSync(outside, `export const word = "evil";`);
  let swapped = 0;
  const transforms = await made.configured([{ module: "t.ts" }, { module: "t.ts", placement: "worker" }], {
    startThread(task) {
      if (swapped++ === 0) {
        rmSync(join(made.root, "word.ts"));
        symlinkSync(outside, join(made.root, "word.ts")); // after it was read, before it is compiled
      }
      return startThread(task);
    },
  });
  assert.ok(swapped > 0);
  await transforms.refresh();
  for (const ref of [{ module: "t.ts" }, { module: "t.ts", placement: "worker" as const }]) {
    assert.deepEqual(await resultOf(transforms, ref), { text: "good" });
    const { state, problem } = transforms.info(ref);
    assert.equal(state, "stale");
    assert.match(problem ?? "", /word\.ts is a symbolic link/);
  }
});
