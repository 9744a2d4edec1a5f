/** The preferences file: whole or defaults, and nothing else in it is lost. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { autoOf } from "../../../plugins/tts/answers.ts";
import { createPrefs } from "../../../plugins/tts/prefs.ts";
import { directory, put } from "../../directory.ts";

function scene(t: TestContext, options: { configured?: string; environment?: Record<string, string> } = {}) {
  const stateDir = directory(t);
  const problems: string[] = [];
  const prefs = createPrefs({
    stateDir: () => stateDir,
    configured: () => options.configured,
    environment: options.environment ?? {},
    clock: { now: () => 42 },
    log: { warn: (fields) => void problems.push(String((fields as { problem: unknown }).problem)) },
  });
  return { stateDir, prefs, problems, file: join(stateDir, "settings", "tts.json") };
}

const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as unknown;

describe("the preferences of speech", () => {
  it("are empty without a file, and kept in a private one", async (t) => {
    const { prefs, file, problems } = scene(t);
    assert.deepEqual(await prefs.read(), {});
    await prefs.change({ auto: "always" });
    await prefs.change({ provider: "espeak", maxLength: 500, summarize: false });
    const stored = { auto: "always", provider: "espeak", maxLength: 500, summarize: false };
    assert.deepEqual(await prefs.read(), stored);
    assert.deepEqual(read(file), { tts: stored });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(problems, []);
  });

  it("keep what others wrote into the file", async (t) => {
    const { prefs, file } = scene(t);
    put(file, JSON.stringify({ other: [1], tts: { enabled: true, mood: "calm" } }), 0o600);
    assert.deepEqual(await prefs.read(), { enabled: true });
    await prefs.change({ provider: "edge" });
    assert.deepEqual(read(file), { other: [1], tts: { enabled: true, mood: "calm", provider: "edge" } });
  });

  const broken: [what: string, text: string][] = [
    ["half-written", '{"tts": {"auto": "alw'],
    ["empty", ""],
    ["a list", "[1]"],
    ["huge", JSON.stringify({ tts: { provider: "x".repeat(70_000) } })],
  ];
  for (const [what, text] of broken) {
    it(`that are ${what} are reported once, count as absent, and stay beside the new file`, async (t) => {
      const { prefs, file, problems, stateDir } = scene(t);
      put(file, text, 0o600);
      assert.deepEqual([await prefs.read(), await prefs.read()], [{}, {}]);
      assert.equal(problems.length, 1);
      await prefs.change({ auto: "tagged" });
      assert.deepEqual(await prefs.read(), { auto: "tagged" });
      assert.deepEqual(readdirSync(join(stateDir, "settings")).sort(), ["tts.json", "tts.json.unreadable-42"]);
      assert.equal(readFileSync(`${file}.unreadable-42`, "utf8"), text);
    });
  }

  it("of the wrong type are ignored one by one", async (t) => {
    const { prefs, file, problems } = scene(t);
    put(file, JSON.stringify({ tts: { auto: "loud", provider: 7, maxLength: -1, summarize: true } }), 0o600);
    assert.deepEqual(await prefs.read(), { summarize: true });
    assert.deepEqual(problems, ["tts.auto, tts.provider, tts.maxLength has a wrong value"]);
  });

  it("are not read from a link, nor from a file that others can write", async (t) => {
    const { prefs, file, stateDir } = scene(t);
    mkdirSync(join(stateDir, "settings"));
    put(join(stateDir, "elsewhere.json"), '{"tts":{"auto":"always"}}', 0o600);
    symlinkSync(join(stateDir, "elsewhere.json"), file);
    assert.deepEqual(await prefs.read(), {});
    await prefs.change({ auto: "off" });
    assert.deepEqual(read(join(stateDir, "elsewhere.json")), { tts: { auto: "always" } }, "the target is unchanged");
    put(file, '{"tts":{"auto":"always"}}', 0o666);
    assert.deepEqual(await prefs.read(), {});
  });

  it("are where the configuration, else SVC_TTS_PREFS, says", (t) => {
    const environment = { SVC_TTS_PREFS: "/elsewhere/a.json" };
    assert.equal(scene(t, { environment }).prefs.path(), "/elsewhere/a.json");
    assert.equal(scene(t, { environment, configured: "/b.json" }).prefs.path(), "/b.json");
    assert.equal(scene(t, { configured: "~/c.json" }).prefs.path(), join(homedir(), "c.json"));
    const inside = scene(t, { configured: "d.json" });
    assert.equal(inside.prefs.path(), join(inside.stateDir, "d.json"));
  });

  it("come before the configuration, in both forms", () => {
    assert.equal(autoOf({}, {}), "off");
    assert.equal(autoOf({}, { enabled: true }), "always");
    assert.equal(autoOf({}, { enabled: true, auto: "inbound" }), "inbound");
    assert.equal(autoOf({ enabled: false }, { auto: "always" }), "off");
    assert.equal(autoOf({ enabled: false, auto: "tagged" }, {}), "tagged");
  });
});
