/** One text: which engine speaks it, what happens if one fails or hangs, and what ends it. */
import assert from "node:assert/strict";
import { setImmediate as tick } from "node:timers/promises";
import { describe, it } from "node:test";
import { type Contribution, type ExtensionView, unavailable, withDefaults } from "@svc/sdk";
import type { SpeechEngine, SpeechRequest } from "@svc/sdk/speech";
import { createFakeClock } from "@svc/sdk/testing";
import { createSpeech } from "../../../plugins/tts/answers.ts";
import { TtsConfig } from "../../../plugins/tts/config.ts";
import { activeEngine, engineStates } from "../../../plugins/tts/choice.ts";
import type { Prefs } from "../../../plugins/tts/prefs.ts";
import { createSpeaking } from "../../../plugins/tts/speaking.ts";
import { MP3 } from "./scene.ts";

type Engines = Readonly<Record<string, Partial<SpeechEngine>>>;
const never = new AbortController().signal;
const hangs = () => new Promise<never>(() => undefined);

function scene(
  engines: Engines,
  { config = {}, prefs = {}, entry = {} }: { config?: object; prefs?: Prefs; entry?: object } = {},
) {
  const asked: (SpeechRequest & { readonly by: string })[] = [];
  const all: Contribution<SpeechEngine>[] = Object.entries(engines).map(([id, engine]) => ({
    id,
    plugin: "p",
    value: {
      label: id.toUpperCase(),
      missing: async () => undefined,
      ...engine,
      async speak(request, signal) {
        asked.push({ ...request, by: id });
        return engine.speak?.(request, signal) ?? { bytes: MP3, format: "mp3" };
      },
    },
  }));
  const view: ExtensionView<SpeechEngine> = {
    list: () => all,
    get: (id) => all.find((one) => one.id === id),
    call: (one, work) => work(one.value),
  };
  const clock = createFakeClock();
  const stop = new AbortController();
  const log: string[] = [];
  const settings = withDefaults(TtsConfig, config);
  const speaking = createSpeaking({
    view,
    config: () => settings,
    prefs: { read: async () => prefs },
    takesVoice: (channel) => channel === "voice",
    clock,
    log: { info: () => undefined },
    signal: stop.signal,
  });
  const speech = createSpeech({
    speaking,
    config: () => settings,
    prefs: { read: async () => prefs },
    sessions: { get: () => ({ get: async () => ({ sessionId: "s", updatedAt: 0, ...entry }) }) },
    fitting: { models: () => undefined, summaryModel: () => undefined, clock, log: { info: () => undefined } },
    log: { warn: (fields) => void log.push(String((fields as { reason: unknown }).reason)) },
  });
  return { view, clock, speaking, speech, asked, stop, log, by: () => asked.map(({ by }) => by) };
}

/** Lets promises settle without time. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await tick();
}

const FAILS = { speak: () => unavailable("it is closed") };
const LACKS = { missing: async () => "set a key" };

describe("the selected engine", () => {
  const cases: [what: string, engines: Engines, wanted: (string | undefined)[], active: string][] = [
    ["is the stored one", { openai: {}, edge: {}, espeak: {} }, ["espeak", "edge"], "espeak"],
    ["is the configured one, if the stored one is gone", { openai: {}, edge: {} }, ["gone", "edge"], "edge"],
    ["is openai with a key", { elevenlabs: {}, openai: {}, edge: {} }, [], "openai"],
    ["is elevenlabs with a key", { openai: LACKS, elevenlabs: {}, edge: {} }, [undefined], "elevenlabs"],
    ["is edge without keys", { openai: LACKS, elevenlabs: LACKS, edge: {}, espeak: {} }, [], "edge"],
    ["is espeak, if edge is disabled", { openai: LACKS, edge: LACKS, espeak: {}, other: {} }, [], "espeak"],
    ["is one of a plugin, if there is no other", { edge: LACKS, espeak: LACKS, other: {} }, [], "other"],
    ["is edge, if nothing is ready", { openai: LACKS, edge: LACKS }, [], "edge"],
    ["stays the stored one, if it lacks something", { openai: LACKS, edge: {} }, ["openai"], "openai"],
  ];
  for (const [what, engines, wanted, active] of cases) {
    it(what, async () => {
      const { view, clock } = scene(engines);
      assert.equal(activeEngine(await engineStates(view, clock, never), wanted), active);
    });
  }

  it("does not depend on an engine that throws or does not say what it lacks", async () => {
    const { view, clock } = scene({
      bad: { missing: () => Promise.reject(new Error("odd")) },
      hung: { missing: hangs },
      edge: {},
    });
    const states = engineStates(view, clock, never);
    await settle();
    await clock.advance(10_000);
    assert.deepEqual(
      (await states).map(({ engine, missing }) => [engine.id, missing]),
      [
        ["edge", undefined],
        ["bad", "odd"],
        ["hung", "it did not respond within 10 s"],
      ],
    );
  });
});

describe("a text", () => {
  it("is spoken by the next engine, if one fails; wishes are for the first only", async () => {
    const { speaking, asked, by } = scene({ other: {}, espeak: {}, edge: FAILS, openai: FAILS });
    const wishes = { voice: "v", settings: { speed: 1 } };
    const spoken = await speaking.speak({ text: "Hi", wishes }, never);
    assert.deepEqual(by(), ["openai", "edge", "espeak"]);
    assert.deepEqual([asked[0]?.voice, asked[1]?.voice, asked[1]?.settings], ["v", undefined, undefined]);
    const { bytes, ...facts } = spoken;
    assert.deepEqual(Buffer.from(bytes), MP3);
    assert.deepEqual(facts, {
      format: "mp3",
      mimeType: "audio/mpeg",
      extension: ".mp3",
      isVoice: false,
      provider: "espeak",
    });
  });

  it("is spoken without its wishes, if the selected engine is not ready", async () => {
    const { speaking, asked } = scene({ openai: LACKS, edge: {} }, { config: { provider: "openai" } });
    await speaking.speak({ text: "Hi", wishes: { voice: "nova" } }, never);
    assert.deepEqual(
      asked.map(({ by, voice }) => [by, voice]),
      [["edge", undefined]],
    );
  });

  it("is wanted as Opus for a channel with voice messages, else as MP3", async () => {
    const { speaking, asked } = scene({ edge: {} });
    for (const channel of ["voice", "text", undefined])
      await speaking.speak({ text: "Hi", ...(channel && { channel }) }, never);
    assert.deepEqual(
      asked.map(({ format }) => format),
      ["opus", "mp3", "mp3"],
    );
  });

  it("that no engine speaks fails with all reasons", async () => {
    const { speaking } = scene({
      openai: FAILS,
      edge: { speak: async () => ({ bytes: Buffer.from("<html>"), format: "mp3" }) },
    });
    await assert.rejects(speaking.speak({ text: "Hi" }, never), {
      code: "UNAVAILABLE",
      message: "no speech engine could speak the text: OPENAI: it is closed; EDGE: EDGE did not return audio",
    });
    await assert.rejects(scene({ edge: LACKS }).speaking.speak({ text: "Hi" }, never), {
      code: "UNAVAILABLE",
      message: /no speech engine is ready: EDGE: set a key/,
    });
  });

  const junk: [what: string, answer: unknown][] = [
    ["nothing", undefined],
    ["text as bytes", { bytes: "ID3", format: "mp3" }],
    ["too much", { bytes: Buffer.concat([MP3, Buffer.alloc(25_000_000)]), format: "mp3" }],
    ["another format than it says", { bytes: Buffer.from("PK"), format: "opus" }],
  ];
  for (const [what, answer] of junk) {
    it(`is spoken by the next engine, if one returns ${what}`, async () => {
      const { speaking } = scene({ openai: { speak: async () => answer as never }, espeak: {} });
      assert.equal((await speaking.speak({ text: "Hi" }, never)).provider, "espeak");
    });
  }

  it("goes to the next engine at the deadline of one that hangs and ignores its signal", async () => {
    const { speaking, clock } = scene({ openai: { speak: hangs }, espeak: {} });
    const spoken = speaking.speak({ text: "Hi" }, never);
    await settle();
    await clock.advance(30_000);
    assert.equal((await spoken).provider, "espeak");
  });

  it("fails after twice that time, if all engines hang", async () => {
    const hung = { speak: hangs };
    const { speaking, clock, by } = scene(
      { openai: hung, elevenlabs: hung, edge: hung },
      { config: { timeoutMs: 5_000 } },
    );
    const failed = assert.rejects(
      speaking.speak({ text: "Hi" }, never),
      /not spoken within 10 s \(messages\.tts\.timeoutMs\)/,
    );
    await settle();
    await clock.advance(5_000);
    await settle();
    await clock.advance(5_000);
    await failed;
    assert.deepEqual(by(), ["openai", "elevenlabs"]);
  });

  it("that is blank, too long or for an unknown engine is refused", async () => {
    const { speaking } = scene({ edge: {} }, { config: { maxTextLength: 5 } });
    for (const [job, message] of [
      [{ text: " \n" }, /blank/],
      [{ text: "123456" }, /has 6 characters; at most 5 \(messages\.tts\.maxTextLength\)/],
      [{ text: "x", engine: "gone" }, /no speech engine "gone"/],
    ] as const)
      await assert.rejects(speaking.speak(job, never), { code: "INVALID_REQUEST", message });
  });

  it("is ended by a newer one of its session, by a message of the person, and by the caller", async () => {
    const { speaking, asked } = scene({ edge: { speak: hangs } });
    const newer = assert.rejects(speaking.speak({ text: "1", sessionKey: "a" }, never), /interrupted by a newer text/);
    const message = assert.rejects(
      speaking.speak({ text: "2", sessionKey: "a" }, never),
      /interrupted by a new message/,
    );
    const other = new AbortController();
    const caller = assert.rejects(speaking.speak({ text: "3", sessionKey: "b" }, other.signal), /bye/);
    await settle();
    speaking.interrupt("a");
    speaking.interrupt("unknown");
    await Promise.all([newer, message]);
    other.abort(new Error("bye"));
    await caller;
    assert.equal(asked.length, 2, "the first one ended before its engine was asked");
  });

  it("ends when the plugin stops", async () => {
    const { speaking, stop } = scene({ edge: { speak: hangs } });
    const ended = assert.rejects(speaking.speak({ text: "1" }, never));
    await settle();
    stop.abort();
    await ended;
  });

  it("waits for its turn; too many are refused with a time to retry", async () => {
    const { speaking, asked, stop } = scene({ edge: { speak: hangs } });
    const all = Array.from({ length: 23 }, (_, index) =>
      speaking.speak({ text: String(index) }, never).catch(() => undefined),
    );
    await settle();
    assert.equal(asked.length, 3);
    await assert.rejects(speaking.speak({ text: "one more" }, never), { code: "UNAVAILABLE", retryAfterMs: 5_000 });
    stop.abort();
    await Promise.all(all);
  });
});

describe("an answer", () => {
  const answer = (text: string, more: object = {}) => ({
    text,
    channel: "text",
    sessionKey: "k",
    heardVoice: false,
    ...more,
  });
  const always = { prefs: { auto: "always" as const } };

  const modes: [auto: NonNullable<Prefs["auto"]>, text: string, heardVoice: boolean, spoken: boolean][] = [
    ["off", "[[tts]]hi", true, false],
    ["always", "hi", false, true],
    ["inbound", "hi", false, false],
    ["inbound", "hi", true, true],
    ["tagged", "hi", true, false],
    ["tagged", "[[tts]]hi", false, true],
  ];
  for (const [auto, text, heardVoice, spoken] of modes) {
    it(`in mode ${auto} is ${spoken ? "" : "not "}spoken: ${text}${heardVoice ? " after a voice message" : ""}`, async () => {
      const { speech } = scene({ edge: {} }, { prefs: { auto } });
      const result = await speech.answer(answer(text, { heardVoice }), never);
      assert.deepEqual([result.text, result.audio !== undefined], ["hi", spoken]);
    });
  }

  it("follows the field ttsAuto of its session", async () => {
    const own = scene({ edge: {} }, { ...always, entry: { ttsAuto: "off" } });
    assert.equal((await own.speech.answer(answer("hi"), never)).audio, undefined);
    assert.equal(await own.speech.auto("k"), "off");
    assert.equal(await scene({}, { ...always, entry: { ttsAuto: "loud" } }).speech.auto("k"), "always");
  });

  it("is spoken without markup and tags, or with the words of its tags, within the limit", async () => {
    const { speech, asked } = scene({ edge: {} }, { prefs: { auto: "always", maxLength: 20 } });
    assert.equal((await speech.answer(answer("**Bold** [[tts:voice=nova]] `x`"), never)).text, "**Bold** `x`");
    await speech.answer(answer("shown [[tts:text]]said[[/tts:text]]"), never);
    await speech.answer(answer("One sentence. Another sentence."), never);
    assert.deepEqual(
      asked.map(({ text, voice }) => [text, voice]),
      [
        ["Bold x", "nova"],
        ["said", undefined],
        ["One sentence.", undefined],
      ],
    );
  });

  it("ignores words and settings of tags that the configuration does not allow", async () => {
    const overrides = { modelOverrides: { allowText: false, allowVoice: false } };
    const { speech, asked } = scene({ edge: {} }, { ...always, config: overrides });
    await speech.answer(answer("shown [[tts:voice=x]][[tts:text]]said[[/tts:text]]"), never);
    assert.deepEqual([asked[0]?.text, asked[0]?.voice], ["shown", undefined]);
  });

  it("keeps its text if speech fails, also if there were only words to speak", async () => {
    const { speech, log } = scene({ edge: FAILS }, always);
    assert.deepEqual(await speech.answer(answer("hi"), never), { text: "hi" });
    assert.deepEqual(await speech.answer(answer("[[tts:text]]only this[[/tts:text]]"), never), { text: "only this" });
    assert.equal(log.length, 2);
  });

  it("is not asked for if there is nothing to say", async () => {
    const { speech, asked } = scene({ edge: {} }, always);
    assert.deepEqual(await speech.answer(answer("```\ncode\n```"), never), { text: "```\ncode\n```" });
    assert.equal(asked.length, 0);
  });

  it("that is not final is only spoken in mode all", async () => {
    const beat = answer("beat", { isFinal: false });
    assert.equal((await scene({ edge: {} }, always).speech.answer(beat, never)).audio, undefined);
    const all = scene({ edge: {} }, { ...always, config: { mode: "all" } });
    assert.ok((await all.speech.answer(beat, never)).audio);
  });

  it("has a hint for its model only in mode tagged", async () => {
    assert.equal(await scene({}, always).speech.hint("k"), undefined);
    assert.match((await scene({}, { prefs: { auto: "tagged" } }).speech.hint("k")) ?? "", /\[\[tts\]\]/);
  });
});
