// long: starts whole programs
/** `svc plugins bisect`: finds the plugin at fault by starting throw-away gateways. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { firstBad, inOrder, type Suspect, withDependents } from "../../../plugins/dev/bisect/order.ts";
import { home } from "../../host/cli/svc.ts";

const one = (id: string, requires: readonly string[] = [], provides: readonly string[] = []): Suspect => ({
  id,
  spec: id,
  requires,
  provides,
});

describe("the order of trials", () => {
  it("has providers before those that need them", () => {
    const suspects = [one("a", ["y"]), one("b", ["x"], ["y"]), one("c", [], ["x"]), one("d")];
    assert.deepEqual(
      inOrder(suspects).map(({ id }) => id),
      ["c", "b", "a", "d"],
    );
    const [, middle = one("")] = suspects;
    assert.deepEqual([...withDependents(middle, suspects)].map(({ id }) => id).sort(), ["a", "b"]);
  });

  it("ends with two that need each other", () => {
    assert.equal(inOrder([one("a", ["y"], ["x"]), one("b", ["x"], ["y"])]).length, 2);
  });

  it("finds any culprit in a logarithmic number of trials", async () => {
    for (let culprit = 0; culprit < 100; culprit += 1) {
      let tries = 0;
      const found = await firstBad(100, async (count) => {
        tries += 1;
        return count <= culprit;
      });
      assert.equal(found, culprit);
      assert.ok(tries <= 7);
    }
  });
});

const PLUGIN = (body: string) => `import { definePlugin, defineService } from "@svc/sdk";
const Ink = defineService()("ink", "1.0.0");
export default definePlugin({ api: "^1.0.0", ${body} });
`;

describe("svc plugins bisect", { timeout: 120_000 }, () => {
  it("names the plugin that keeps a gateway from being well, or makes a command fail, and touches nothing", async (t) => {
    const use = ["plugins", "./pen.ts", "./well.ts", "./blot.ts", "./other.ts"];
    const here = home(t, { plugins: { use } });
    const write = (name: string, body: string) =>
      writeFileSync(join(dirname(here.configPath), `${name}.ts`), PLUGIN(body));
    write("pen", 'id: "pen", requires: { ink: Ink }, setup() {}');
    write("well", 'id: "well", provides: [Ink], setup(g) { g.provide(Ink, {}); }');
    write("other", 'id: "other", setup() {}');
    write("blot", 'id: "blot", requires: { ink: Ink }, setup() { throw new Error("blotted"); }');
    const before = readFileSync(here.configPath, "utf8");
    const byGateway = await here.svc(["plugins", "bisect"]);
    assert.equal(byGateway.code, 0, byGateway.stderr);
    assert.match(
      byGateway.stdout,
      /^The cause is the plugin blot\.\nblot is failed: .*blotted\nNext: svc plugins disable blot\n$/,
    );
    assert.equal(readFileSync(here.configPath, "utf8"), before);
    assert.equal(existsSync(here.stateDir), false); // nothing was started there

    write("blot", 'id: "blot", setup() {}');
    // Fails where the gateway has the plugin `other`.
    const command = [
      process.execPath,
      "-e",
      'process.exit(JSON.parse(require("fs").readFileSync(process.env.SVC_CONFIG_PATH)).plugins.use.some((one) => one.includes("other")) ? 4 : 0)',
    ];
    const byCommand = await here.svc(["plugins", "bisect", "--", ...command]);
    assert.match(byCommand.stdout, /^The cause is the plugin other\.\n.* ended with 4/);
    const fine = await here.svc(["plugins", "bisect", "--", process.execPath, "-e", "0"]);
    assert.deepEqual([fine.code, /With all plugins the check passes/.test(fine.stderr)], [1, true]);
  });

  it("names one whose import ends the process at once", async (t) => {
    const here = home(t, { plugins: { use: ["plugins", "./quit.ts"] } });
    writeFileSync(join(dirname(here.configPath), "quit.ts"), "process.exit(9);");
    const { code, stdout } = await here.svc(["plugins", "bisect"]);
    assert.deepEqual(
      [code, stdout.split("\n").slice(0, 2)],
      [0, ["The cause is the plugin ./quit.ts.", "importing it ends or blocks the process"]],
    );
  });
});
