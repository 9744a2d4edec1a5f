/** The words of a text for listeners: tags, markup, length; and the formats of audio. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSpeechTags } from "@svc/kit/runs";
import { formatOf } from "../../../plugins/tts/audio.ts";
import { cutAtSentence, fitting, type FittingSources } from "../../../plugins/tts/fitting.ts";
import { spokenText } from "../../../plugins/tts/spoken-text.ts";
import { wishesOf } from "../../../plugins/tts/wishes.ts";
import { TtsConfig } from "../../../plugins/tts/config.ts";
import { withDefaults } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { MP3, tone } from "./scene.ts";

describe("tags for speech", () => {
  const cases: [text: string, shown: string, spoken: string | undefined, settings: object][] = [
    ["no tags [here] or [[there]]", "no tags [here] or [[there]]", undefined, {}],
    ["[[tts]] Hello", "Hello", undefined, {}],
    ["[[tts:voice=nova Speed=1.2]]Hello", "Hello", undefined, { voice: "nova", speed: "1.2" }],
    ["Shown [[tts:text]]spoken[[/tts:text]] end", "Shown end", "spoken", {}],
    ["[[TTS:TEXT]]a[[/tts:text]][[tts:text]]b[[/tts:text]]", "", "a\n\nb", {}],
    ["a [[tts:text]]never closed", "a never closed", undefined, {}],
    ["a [[/tts:text]] b", "a b", undefined, {}],
    ["[[tts:constructor=x __proto__=y]]z", "z", undefined, { constructor: "x" }],
  ];
  for (const [text, shown, spoken, settings] of cases) {
    it(`are read in ${JSON.stringify(text)}`, () => {
      const tags = readSpeechTags(text);
      assert.equal(tags.shown, shown);
      assert.equal(tags.spoken, spoken);
      assert.deepEqual({ ...tags.settings }, settings);
      assert.equal(tags.isTagged, text.toLowerCase().includes("tts"));
    });
  }

  it("of a growing text are withheld from their first character on, and the text never shrinks", () => {
    const text = "One [x] [[tts:text]]secret words[[/tts:text]]two [[tts:voice=a]]three";
    let before = "";
    for (let length = 0; length <= text.length; length++) {
      const { shown } = readSpeechTags(text.slice(0, length), { isGrowing: true });
      assert.ok(shown.startsWith(before.trimEnd()) || before.startsWith(shown), `${before} -> ${shown}`);
      assert.doesNotMatch(shown, /tts|secret/);
      before = shown;
    }
    assert.equal(before, "One [x] two three");
  });

  it("are read in time proportional to the text, however it is made", { timeout: 30_000 }, () => {
    for (const part of ["[[tts:text]]", "[[tts:", "[[", "[[tts:a=b ", "[ [[/tts:text]] "]) {
      const text = part.repeat(200_000 / part.length);
      assert.ok(readSpeechTags(text).shown.length <= text.length);
      assert.ok(readSpeechTags(text, { isGrowing: true }).shown.length <= text.length);
    }
  });
});

describe("words to speak", () => {
  const cases: [what: string, markdown: string, spoken: string][] = [
    ["markup", "# Title\n\nSome **bold**, _soft_ and `code` words.", "Title.\n\nSome bold, soft and code words."],
    ["code", "Run this:\n\n```sh\nrm -rf /\n```\n\nDone.", "Run this:\n\nDone."],
    ["links", "See [the guide](https://a.test/very/long) or https://www.b.test/x/y?z=1.", "See the guide or b.test."],
    ["lists", "- one\n- two **2**\n  - three", "one.\ntwo 2three."],
    ["tables", "| a | b |\n|---|---|\n| 1 | 2 |", "a, b.\n1, 2."],
    ["pictures and HTML", "![a cat](https://x.test/c.png)<b>hi</b>\n\n<script>x</script>", "a cathi"],
    ["emoji", "Good 👍🏽 morning 🇩🇪 1️⃣", "Good morning 1"],
    ["nothing", "```\nonly code\n```", ""],
  ];
  for (const [what, markdown, spoken] of cases) {
    it(`leave out ${what}`, () => assert.equal(spokenText(markdown), spoken));
  }

  const refs: string[] = [];
  const sources = (stream: () => AsyncIterable<unknown>): FittingSources => ({
    models: () =>
      ({
        resolve: (ref: string) => {
          refs.push(ref);
          return { provider: "p", id: "m" };
        },
        stream,
      }) as never,
    summaryModel: () => "p/short",
    clock: createFakeClock(),
    log: { info: () => undefined },
  });
  const long = "First sentence. ".repeat(20);
  const options = { limit: 100, summarizes: true, signal: new AbortController().signal };

  it("of a long text are its summary", async () => {
    const models = sources(async function* () {
      yield { type: "text", delta: "Short " };
      yield { type: "text", delta: "words." };
    });
    assert.equal(await fitting(long, options, models), "Short words.");
    assert.equal(await fitting("short", options, models), "short");
    assert.deepEqual(refs, ["p/short"], "the configured model, for the long text only");
  });

  it("of a long text are its first sentences, if the model fails, says nothing or is not wanted", async () => {
    const failing = sources(() => {
      throw new Error("away");
    });
    const silent = sources(async function* () {
      yield { type: "text", delta: "  " };
    });
    const cut = "First sentence. ".repeat(6).trim();
    assert.equal(await fitting(long, options, failing), cut);
    assert.equal(await fitting(long, options, silent), cut);
    assert.equal(await fitting(long, { ...options, summarizes: false }, failing), cut);
    assert.equal(await fitting(long, options, { ...failing, models: () => undefined }), cut);
  });

  it("are at most as many as the limit, even if the summary is longer", async () => {
    const chatty = sources(async function* () {
      yield { type: "text", delta: "Much more. ".repeat(30) };
    });
    assert.ok((await fitting(long, options, chatty)).length <= 100);
    assert.equal(cutAtSentence(`${"a".repeat(9)}😀`, 10), "a".repeat(9));
    assert.equal(cutAtSentence("one two three", 9), "one two");
  });
});

describe("settings of a model for its own text", () => {
  const { modelOverrides } = withDefaults(TtsConfig, {});
  const given = {
    provider: "ElevenLabs",
    voiceid: "v-1",
    model: "m",
    speed: "1.5",
    usespeakerboost: "true",
    seed: "7",
    language: "de",
    normalize: "off",
  };

  it("count as far as they are allowed; the engine is not, by default", () => {
    const settings = { speed: 1.5, useSpeakerBoost: true, applyTextNormalization: "off", seed: 7 };
    const wishes = { voice: "v-1", model: "m", language: "de", settings };
    assert.deepEqual(wishesOf(given, modelOverrides), { wishes });
    const all = { ...modelOverrides, allowProvider: true };
    assert.deepEqual(wishesOf(given, all), { engine: "elevenlabs", wishes });
    assert.deepEqual(wishesOf(given, { ...all, enabled: false }), {});
  });

  const keys = [
    ["allowVoice", "voice"],
    ["allowModelId", "model"],
    ["allowNormalization", "language"],
  ] as const;
  for (const [key, field] of keys) {
    it(`lack the ${field} without ${key}`, () => {
      const { wishes = {} } = wishesOf(given, { ...modelOverrides, [key]: false });
      assert.equal(wishes[field], undefined);
    });
  }

  it("lack single settings without allowVoiceSettings and allowSeed", () => {
    const only = { ...modelOverrides, allowVoiceSettings: false };
    assert.deepEqual(wishesOf(given, only).wishes?.settings, { applyTextNormalization: "off", seed: 7 });
    const { seed, ...rest } = wishesOf(given, { ...modelOverrides, allowSeed: false }).wishes?.settings ?? {};
    assert.deepEqual([seed, rest["speed"]], [undefined, 1.5]);
  });

  it("are ignored if they are malformed", () => {
    const hostile = { voice: "../../x", model: "a b", seed: "-1", language: "--help", normalize: "maybe" };
    assert.deepEqual(wishesOf(hostile, modelOverrides), { wishes: {} });
  });
});

describe("the format of audio", () => {
  const opus = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(24), Buffer.from("OpusHead")]);
  const cases: [what: string, bytes: Buffer, format: string | undefined][] = [
    ["WAV", tone(0.01), "wav"],
    ["MP3", MP3, "mp3"],
    ["MP3 with a tag", Buffer.from("ID3\x04"), "mp3"],
    ["Opus", opus, "opus"],
    ["Vorbis", Buffer.concat([Buffer.from("OggS"), Buffer.alloc(24), Buffer.from("\x01vorbis")]), undefined],
    ["a page", Buffer.from("<!doctype html><html>"), undefined],
    ["JSON", Buffer.from('{"error":1}'), undefined],
    ["nothing", Buffer.alloc(0), undefined],
  ];
  for (const [what, bytes, format] of cases)
    it(`of ${what} is ${format ?? "unknown"}`, () => assert.equal(formatOf(bytes), format));
});
