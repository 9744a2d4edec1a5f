/** The wake words of another gateway. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { imports } from "@svc/sdk/import";
import { voicewake, voicewakeChanged } from "@svc/sdk/talk";
import { testGateway } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";

const limited = { timeout: 120_000 };
const DEFAULTS = ["svc", "claude", "computer"];

async function start(t: TestContext) {
  const stateDir = directory(t);
  const { client } = await testGateway(t, { plugins: ["talk", "import"], stateDir });
  const take = async (triggers: unknown) => {
    const { outcomes } = await client.call(imports.take, {
      kind: "wake-words",
      records: [{ id: "w", triggers } as { id: string }],
    });
    return outcomes[0] ?? assert.fail("no outcome");
  };
  return {
    client,
    take,
    file: join(stateDir, "settings", "voicewake.json"),
    words: async () => (await client.call(voicewake.get, {})).triggers,
    given: async () => (await client.call(imports.give, { kind: "wake-words" })).records,
    count: async () => (await client.call(imports.kinds, {})).kinds[0]?.count,
  };
}

describe("wake words that come from another gateway", limited, () => {
  it("are taken once, and every client is told", async (t) => {
    const { take, words, count, client, file } = await start(t);
    const told: unknown[] = [];
    client.on(voicewakeChanged, (payload) => told.push(payload));
    assert.equal(await count(), 0);
    assert.deepEqual(await take(["molly", "hey molly"]), { id: "w", action: "take" });
    assert.equal(await count(), 1);
    await until(() => told.length === 1, "the event");
    assert.deepEqual(told, [{ triggers: ["molly", "hey molly"] }]);
    assert.deepEqual(await take(["other"]), { id: "w", action: "skip", reason: "this gateway has wake words already" });
    assert.deepEqual(await words(), ["molly", "hey molly"]);
    assert.equal(await count(), 1);
    assert.match(readFileSync(file, "utf8"), /"updatedAtMs": \d{13}/);
  });

  it("are taken once of several lists", async (t) => {
    const { client, words } = await start(t);
    const records: { id: string; triggers?: string[] }[] = ["a", "b"].map((id) => ({ id, triggers: [id] }));
    const { outcomes } = await client.call(imports.take, { kind: "wake-words", records });
    assert.deepEqual(
      outcomes.map(({ action }) => action),
      ["take", "skip"],
    );
    assert.deepEqual(await words(), ["a"]);
  });

  it("are not taken in place of a file that cannot be used", async (t) => {
    const { take, file } = await start(t);
    mkdirSync(join(file, ".."));
    writeFileSync(file, "{", { mode: 0o600 });
    assert.equal((await take(["molly"])).action, "skip");
    assert.equal(readFileSync(file, "utf8"), "{");
  });

  const converted: [given: string[], stored: string[]][] = [
    [[" molly ", "", "  "], ["molly"]],
    [["x".repeat(65)], ["x".repeat(64)]],
    [Array.from({ length: 40 }, (_, n) => `w${n}`), Array.from({ length: 32 }, (_, n) => `w${n}`)],
    [[], DEFAULTS],
  ];
  for (const [given, stored] of converted) {
    it(`are normalized, which the outcome says: ${JSON.stringify(given).slice(0, 40)}`, async (t) => {
      const { take, words } = await start(t);
      const { action, reason } = await take(given);
      assert.deepEqual([action, typeof reason], ["convert", "string"]);
      assert.deepEqual(await words(), stored);
    });
  }

  it("are refused when they are no list", async (t) => {
    const { take, count } = await start(t);
    for (const triggers of ["molly", null, [7], undefined]) assert.equal((await take(triggers)).action, "refuse");
    assert.equal(await count(), 0);
  });

  it("are given, and taken by another gateway, which gives the same; the default words are not given", async (t) => {
    const [from, to] = [await start(t), await start(t)];
    assert.deepEqual(await from.given(), []);
    await from.take(["molly"]);
    const given = await from.given();
    assert.deepEqual(given, [{ id: "voicewake", triggers: ["molly"] }]);
    const { outcomes } = await to.client.call(imports.take, { kind: "wake-words", records: [...given] });
    assert.deepEqual(outcomes, [{ id: "voicewake", action: "take" }]);
    assert.deepEqual(await to.given(), given);
  });
});
