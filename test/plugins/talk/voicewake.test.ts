/** Wake words, the copy for each node, and voices that a person interrupts. Spec: protocol/methods-system.md §2, events.md §2 and §8. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { Speech } from "@svc/sdk/speech";
import { voicewake, voicewakeChanged } from "@svc/sdk/talk";
import { testGateway } from "@svc/sdk/testing";
import { wakeWords } from "../../../plugins/talk/wake-words.ts";
import { directory } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { nodeScene } from "../nodes/scene.ts";

const limited = { timeout: 120_000 };
const DEFAULTS = ["svc", "claude", "computer"];

describe("wake words", () => {
  it("are trimmed texts: at most 32 of 64 characters, and never none", () => {
    assert.deepEqual(wakeWords([" hey ", "", "  ", 7, null, {}, "ho"]), ["hey", "ho"]);
    assert.deepEqual(wakeWords([]), DEFAULTS);
    assert.deepEqual(wakeWords([1, " "]), DEFAULTS);
    const many = wakeWords(Array.from({ length: 40 }, (_, n) => `w${n}`));
    assert.deepEqual([many.length, many.at(-1)], [32, "w31"]);
    assert.deepEqual(wakeWords(["x".repeat(65)]), ["x".repeat(64)]);
    assert.deepEqual(wakeWords([`${"x".repeat(63)}\u{1F600}`]), ["x".repeat(63)], "no half of a character");
  });
});

describe("voicewake.get and voicewake.set", limited, () => {
  const start = (t: TestContext, stateDir = directory(t)) => testGateway(t, { plugins: ["talk"], stateDir });
  const fileIn = (stateDir: string) => join(stateDir, "settings", "voicewake.json");

  it("starts with the default words, keeps those that are set over a restart, and notifies every client", async (t) => {
    const stateDir = directory(t);
    const { client, connect, gateway } = await start(t, stateDir);
    assert.deepEqual(await client.call(voicewake.get, {}), { triggers: DEFAULTS });
    const other = await connect({ scopes: [] });
    const told: { payload: unknown; seq: unknown }[] = [];
    other.onEvent(({ event, payload, seq }) => event === voicewakeChanged.name && told.push({ payload, seq }));
    const set = await client.call(voicewake.set, { triggers: [" hey ", 7, ""] });
    assert.deepEqual(set, { triggers: ["hey"] });
    await until(() => told.length === 1, "the event");
    assert.deepEqual([told[0]?.payload, typeof told[0]?.seq], [set, "number"]);
    assert.ok(client.hello.features.events.includes("voicewake.changed"));
    const stored = JSON.parse(readFileSync(fileIn(stateDir), "utf8")) as { triggers: string[]; updatedAtMs: number };
    assert.deepEqual([Object.keys(stored), stored.triggers], [["triggers", "updatedAtMs"], ["hey"]]);
    assert.ok(Math.abs(stored.updatedAtMs - Date.now()) < 600_000);
    assert.equal(statSync(fileIn(stateDir)).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(stateDir, "settings")), ["voicewake.json"]);
    await client.close();
    await gateway.stop();
    const again = await start(t, stateDir);
    assert.deepEqual(await again.client.call(voicewake.get, {}), { triggers: ["hey"] });
    assert.deepEqual(await again.client.call(voicewake.set, { triggers: [] }), { triggers: DEFAULTS });
  });

  it("params that are no list are refused, and set needs operator.write", async (t) => {
    const { client, connect } = await start(t);
    for (const params of [{}, { triggers: "hey" }, { triggers: null }]) {
      await assert.rejects(client.request("voicewake.set", params), { code: "INVALID_REQUEST" });
    }
    assert.deepEqual(await client.request("voicewake.get", { other: 1 }), { triggers: DEFAULTS });
    const reader = await connect({ scopes: ["operator.read"] });
    await assert.rejects(reader.call(voicewake.set, { triggers: [] }), { message: "missing scope: operator.write" });
  });

  it("an unusable file means the default words and a warning; the next set replaces it", async (t) => {
    const stateDir = directory(t);
    mkdirSync(join(stateDir, "settings"));
    const { client } = await start(t, stateDir);
    for (const text of ['{"triggers": ["hey"', "[]", '{"triggers":"hey"}', "", "x".repeat(70_000)]) {
      writeFileSync(fileIn(stateDir), text, { mode: 0o600 });
      assert.deepEqual(await client.call(voicewake.get, {}), { triggers: DEFAULTS }, text.slice(0, 30));
    }
    await client.call(voicewake.set, { triggers: ["ho"] });
    assert.deepEqual(await client.call(voicewake.get, {}), { triggers: ["ho"] });
    writeFileSync(fileIn(stateDir), '{"triggers":[" imported ",1]}');
    assert.deepEqual(await client.call(voicewake.get, {}), { triggers: ["imported"] }, "written by another program");
  });

  it("concurrent calls leave one complete file", async (t) => {
    const stateDir = directory(t);
    const { client } = await start(t, stateDir);
    const words = Array.from({ length: 20 }, (_, n) => `word-${n}`);
    await Promise.all(words.map((word) => client.call(voicewake.set, { triggers: [word] })));
    const [last = ""] = (await client.call(voicewake.get, {})).triggers;
    assert.ok(words.includes(last));
    assert.deepEqual(readdirSync(join(stateDir, "settings")), ["voicewake.json"]);
  });
});

describe("a node that connects", limited, () => {
  it("gets the wake words directly, without seq; nobody else does [W11.19]", async (t) => {
    const scene = await nodeScene(t, { plugins: ["talk"] });
    await scene.client.call(voicewake.set, { triggers: ["hey"] });
    const others: string[] = [];
    scene.client.onEvent(({ event }) => others.push(event));
    const frames: { event: string; seq?: number | undefined; payload?: unknown }[] = [];
    await scene.node({ identity: createDevice(), onEvent: (frame) => frames.push(frame) });
    const direct = () => frames.find(({ event }) => event === "voicewake.changed");
    await until(() => direct() !== undefined, "the direct copy");
    assert.deepEqual([direct()?.payload, "seq" in (direct() ?? {})], [{ triggers: ["hey"] }, false]);
    assert.ok(!others.includes("voicewake.changed"));
  });
});

describe("a person who speaks", limited, () => {
  const fakeSpeech = (interrupted: string[]) =>
    pluginOf("fake-speech", { provides: [Speech] }, (gateway) =>
      gateway.provide(Speech, {
        hint: async () => undefined,
        answer: async ({ text }) => ({ text }),
        speak: () => Promise.reject(new Error("not asked")),
        interrupt: async (sessionKey) => void interrupted.push(sessionKey),
      }),
    );
  const RUNNING = ["sessions", "models", "provider-offline", "agents", "talk"];

  async function spoken(t: TestContext, section: object) {
    const interrupted: string[] = [];
    const scene = await nodeScene(t, { plugins: [...RUNNING, fakeSpeech(interrupted)], config: { talk: section } });
    const one = await scene.node();
    return { one, interrupted };
  }

  it("stops the voice of the session, once for each transcript", async (t) => {
    const { one, interrupted } = await spoken(t, {});
    await one.event("voice.transcript", { text: "stop that", eventId: "e1" });
    await one.event("voice.transcript", { text: "stop that", eventId: "e1" });
    await one.event("voice.transcript", { text: "   " });
    await one.event("voice.transcript", { text: "and now", sessionKey: "Side", eventId: "e2" });
    await until(() => interrupted.length === 2, "both interruptions");
    assert.deepEqual(interrupted, ["agent:main:main", "agent:main:side"]);
  });

  it("does not, with talk.interruptOnSpeech false", async (t) => {
    const { one, interrupted } = await spoken(t, { interruptOnSpeech: false });
    await one.event("voice.transcript", { text: "stop that" });
    await one.event("voice.transcript", { text: "again" });
    assert.deepEqual(interrupted, []);
  });
});
