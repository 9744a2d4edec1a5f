import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createEnvSource } from "../../../plugins/secrets/env-source.ts";
import { providerWith } from "./scene.ts";

const { signal } = new AbortController();

describe("the source env", () => {
  it("finds variables that are set at the lookup, but none that are missing, empty or from a prototype", async () => {
    const env: Record<string, string> = { ACME_KEY: "earlier", EMPTY: "" };
    const source = createEnvSource(env);
    env["ACME_KEY"] = "k";
    const found = await source.resolve(providerWith(), ["ACME_KEY", "EMPTY", "MISSING", "constructor"], signal);
    assert.deepEqual([...found], [["ACME_KEY", "k"]]);
  });

  const ids: [id: string, ok: boolean][] = [
    ["A", true],
    ["A1_B", true],
    [`A${"B".repeat(127)}`, true],
    [`A${"B".repeat(128)}`, false],
    ["", false],
    ["a", false],
    ["1A", false],
    ["A-B", false],
    ["A\n", false],
    ["__proto__", false],
  ];
  it("accepts names of variables as ids, and nothing else", () => {
    for (const [id, ok] of ids) assert.equal(createEnvSource({}).checkId(id, providerWith()) === undefined, ok, id);
  });

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
