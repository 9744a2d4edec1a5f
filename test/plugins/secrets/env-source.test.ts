import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createEnvSource } from "../../../plugins/secrets/env-source.ts";
import { providerWith } from "./scene.ts";

const { signal } = new AbortController();

describe("the source env", () => {
  it("finds variables that are set, but none that are missing, empty or from a prototype", async () => {
    const source = createEnvSource({ ACME_KEY: "k", EMPTY: "" });
    const found = await source.resolve(providerWith(), ["ACME_KEY", "EMPTY", "MISSING", "constructor"], signal);
    assert.deepEqual([...found], [["ACME_KEY", "k"]]);
  });

  it("reads the environment at each lookup", async () => {
    const env: Record<string, string> = { A: "1" };
    const source = createEnvSource(env);
    env["A"] = "2";
    assert.equal((await source.resolve(providerWith(), ["A"], signal)).get("A"), "2");
  });

  const ids: [id: string, ok: boolean][] = [
    ["A", true],
    ["A1_B", true],
    [`A${"B".repeat(127)}`, true],
    [`A${"B".repeat(128)}`, false],
    ["", false],
    ["a", false],
    ["_A", false],
    ["1A", false],
    ["A-B", false],
    ["A\n", false],
    ["__proto__", false],
  ];
  for (const [id, ok] of ids) {
    it(`${ok ? "accepts" : "refuses"} the id ${JSON.stringify(id).slice(0, 20)}`, () => {
      assert.equal(createEnvSource({}).checkId(id, providerWith()) === undefined, ok);
    });
  }

  it("respects its allowlist, which may be empty, and does not repeat the id", () => {
    const source = createEnvSource({ A: "1", B: "2" });
    assert.equal(source.checkId("A", providerWith({ allowlist: ["A"] })), undefined);
    for (const allowlist of [["A"], []]) {
      const why = source.checkId("B_SECRET", providerWith({ allowlist })) ?? assert.fail("it was taken");
      assert.match(why, /secrets\.providers\.vault\.allowlist does not contain this variable; add it/u);
      assert.doesNotMatch(why, /B_SECRET/u);
    }
  });
});
