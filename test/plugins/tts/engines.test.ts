/** The engines `openai` and `elevenlabs` against a local server, well-behaved and hostile. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError, withDefaults } from "@svc/sdk";
import type { SpeechRequest } from "@svc/sdk/speech";
import { MAX_AUDIO_BYTES } from "../../../plugins/tts/audio.ts";
import { TtsConfig } from "../../../plugins/tts/config.ts";
import { createKey } from "../../../plugins/tts/engines/api-key.ts";
import { createElevenLabs } from "../../../plugins/tts/engines/elevenlabs.ts";
import { createOpenAi } from "../../../plugins/tts/engines/openai.ts";
import { MP3, speechServer } from "./scene.ts";

const KEY = "canary-key-5173";
const key = (value: string | undefined = KEY) => ({ isSet: () => true, reveal: async () => value });
const never = new AbortController().signal;
const request = (more: Partial<SpeechRequest> = {}): SpeechRequest => ({ text: "Hello", format: "mp3", ...more });

async function openai(t: TestContext, answer?: RequestListener, own: object = {}) {
  const server = await speechServer(t, answer);
  const { openai: settings } = withDefaults(TtsConfig, { openai: { baseUrl: `${server.url}/v1/`, ...own } });
  return { ...server, engine: createOpenAi({ settings: () => settings, key: key() }) };
}

async function elevenlabs(t: TestContext, own: object = {}) {
  const server = await speechServer(t);
  const { elevenlabs: settings } = withDefaults(TtsConfig, { elevenlabs: { baseUrl: server.url, ...own } });
  return { ...server, engine: createElevenLabs({ settings: () => settings, key: key() }) };
}

describe("the engine openai", () => {
  it("sends text, model, voice and format", async (t) => {
    const { engine, asked } = await openai(t, undefined, { model: "tts-1", voice: "nova" });
    const audio = await engine.speak(request({ format: "opus" }), never);
    assert.deepEqual([audio.format, Buffer.from(audio.bytes)], ["mp3", MP3], "the bytes decide about the format");
    const wished = { voice: "sage", model: "tts-1-hd", settings: { speed: 1.5 } };
    await engine.speak(request(wished), never);
    const base = { input: "Hello" };
    assert.deepEqual(
      asked.map(({ url, body }) => [url, body]),
      [
        ["/v1/audio/speech", { ...base, model: "tts-1", voice: "nova", response_format: "opus" }],
        ["/v1/audio/speech", { ...base, model: "tts-1-hd", voice: "sage", response_format: "mp3", speed: 1.5 }],
      ],
    );
    assert.equal(asked[0]?.headers.authorization, `Bearer ${KEY}`);
  });

  it("has the models and voices of the reference", async (t) => {
    const { engine } = await openai(t);
    assert.deepEqual([engine.models?.length, engine.voices?.length], [3, 14]);
  });

  let followed = 0;
  const bad: [what: string, answer: RequestListener, told: RegExp][] = [
    ["a page", (_, response) => response.end("<!doctype html><h1>Sign in</h1>"), /did not return audio$/],
    ["nothing", (_, response) => response.end(), /did not return audio$/],
    [
      "a refused key",
      (_, response) => response.writeHead(401).end(`the key ${KEY} is wrong`),
      /status 401; check messages\.tts\.openai\.apiKey$/,
    ],
    [
      "a redirect",
      ({ url }, response) => {
        if (url === "/elsewhere") followed += 1;
        response.writeHead(302, { location: "/elsewhere" }).end();
      },
      /status 302; it has moved: update its baseUrl$/,
    ],
    ["a broken connection", (_, response) => response.destroy(), /cannot be reached \(\w+\)$/],
    [
      "endless bytes",
      (_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(1_000_000)));
          if (!response.destroyed) response.once("drain", more);
        };
        response.on("error", () => undefined);
        more();
      },
      new RegExp(`returned more than ${MAX_AUDIO_BYTES} bytes$`),
    ],
  ];
  for (const [what, answer, told] of bad) {
    it(`refuses ${what}, without the key in the message`, async (t) => {
      const { engine } = await openai(t, answer);
      await assert.rejects(engine.speak(request(), never), (error) => {
        assert.ok(isGatewayError(error));
        assert.equal(error.code, "UNAVAILABLE");
        assert.match(error.message, told);
        assert.doesNotMatch(error.message, /canary/);
        return true;
      });
      assert.equal(followed, 0, "the key stays with the configured host");
    });
  }

  it("ends a request to a server that hangs when the signal aborts", async (t) => {
    const ending = new AbortController();
    const { engine } = await openai(t, () => ending.abort(new Error("enough")));
    await assert.rejects(engine.speak(request(), ending.signal), /enough/);
  });
});

describe("the engine elevenlabs", () => {
  it("sends every setting of its section", async (t) => {
    const { engine, asked } = await elevenlabs(t, {
      voiceId: "voice/1",
      modelId: "eleven_turbo_v2_5",
      seed: 7,
      applyTextNormalization: "on",
      languageCode: "de",
      voiceSettings: { stability: 0.1, similarityBoost: 0.2, style: 0.3, useSpeakerBoost: false, speed: 1.1 },
    });
    await engine.speak(request({ format: "opus" }), never);
    assert.equal(asked[0]?.url, "/v1/text-to-speech/voice%2F1?output_format=opus_48000_64");
    assert.equal(asked[0]?.headers["xi-api-key"], KEY);
    assert.deepEqual(asked[0]?.body, {
      text: "Hello",
      model_id: "eleven_turbo_v2_5",
      seed: 7,
      apply_text_normalization: "on",
      language_code: "de",
      voice_settings: { stability: 0.1, similarity_boost: 0.2, style: 0.3, use_speaker_boost: false, speed: 1.1 },
    });
  });

  it("sends only text and model by default, and what a model wishes", async (t) => {
    const { engine, asked } = await elevenlabs(t);
    await engine.speak(request(), never);
    await engine.speak(request({ voice: "v", model: "m", language: "fr", settings: { seed: 1, speed: 9 } }), never);
    assert.deepEqual(asked[0]?.body, { text: "Hello", model_id: "eleven_multilingual_v2" });
    assert.equal(asked[1]?.url, "/v1/text-to-speech/v?output_format=mp3_44100_128");
    assert.deepEqual(asked[1]?.body, { text: "Hello", model_id: "m", seed: 1, language_code: "fr" });
  });
});

describe("the key of an engine", () => {
  const place = { setting: "messages.tts.x.apiKey", variable: "X_KEY" };
  const secrets = { get: () => ({ reveal: async () => "found" }) };

  it("is the configured one, its reference resolved, else the variable's", async () => {
    const environment = { X_KEY: "of the variable" };
    const from = (configured: string | object | undefined) =>
      createKey({ ...place, configured: () => configured as string, environment, secrets });
    assert.equal(await from("plain").reveal(), "plain");
    assert.equal(await from({ source: "env", id: "Y" }).reveal(), "found");
    assert.equal(await from(undefined).reveal(), "of the variable");
  });

  it("is missing without both, and says what to set", async () => {
    const none = createKey({ ...place, configured: () => undefined, environment: {}, secrets });
    assert.equal(none.isSet(), false);
    await assert.rejects(none.reveal(), /set messages\.tts\.x\.apiKey or the variable X_KEY/);
    const unresolved = { ...place, configured: () => ({ source: "env", id: "Y" }), environment: {} };
    const alone = createKey({ ...unresolved, secrets: { get: () => undefined } });
    assert.equal(alone.isSet(), true);
    await assert.rejects(alone.reveal(), /enable the plugin secrets/);
  });
});
