/** Answers of channels with speech: text and voice file, never without the text. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { live, unavailable } from "@svc/sdk";
import { Delivery } from "@svc/sdk/channels";
import type { SpeechEngine } from "@svc/sdk/speech";
import { pluginOf } from "../../plugin-of.ts";
import { without } from "../../programs.ts";
import { enginePlugin, heard, MP3, QUIET, tone } from "../tts/scene.ts";
import { able, type AbleOptions } from "./able.ts";
import { until } from "./scene.ts";

const speaks = (more: Partial<SpeechEngine> = {}) =>
  enginePlugin({ speak: async () => ({ bytes: MP3, format: "mp3" }), ...more });
const LONG = "This answer is long enough to be shown while it grows, and then it ends.";

interface Options extends AbleOptions {
  readonly tts?: object;
  readonly engine?: Partial<SpeechEngine>;
}

function scene(t: TestContext, { tts = {}, engine, ...options }: Options = {}) {
  const own = { ...QUIET, auto: "always", provider: "voice-box", ...tts };
  const plugins = ["tts", speaks(engine), ...(options.plugins ?? [])];
  const capabilities = { maxMediaBytes: 1_000_000, edits: false, ...options.capabilities };
  return able(t, { ...options, plugins, capabilities, config: { messages: { tts: own } } });
}

/** The messages in order, with their files. */
const shown = (messages: Awaited<ReturnType<typeof able>>["messages"]) =>
  messages.map(({ text, media }) => (media === undefined ? text : `${media.kind} ${media.name}: ${text}`));

describe("an answer of a channel", { timeout: 120_000 }, () => {
  it("is sent as text, then as audio", async (t) => {
    const spoken: string[] = [];
    const engine: Partial<SpeechEngine> = {
      speak: async ({ text }) => {
        spoken.push(text);
        return { bytes: MP3, format: "mp3" };
      },
    };
    const { bird, messages } = await scene(t, { engine, replies: [{ text: "Hello **Ann**" }] });
    await bird.says("hi");
    await until(() => messages.length === 2, "text and audio");
    assert.deepEqual(shown(messages), ["Hello <b>Ann</b>", "audio answer.mp3: "]);
    assert.deepEqual(spoken, ["Hello Ann"]);
    assert.deepEqual([messages[1]?.media?.mimeType, messages[1]?.media?.isVoice], ["audio/mpeg", undefined]);
  });

  it("is a voice message of Opus where the network has those", { skip: without("ffmpeg") }, async (t) => {
    const { bird, messages } = await scene(t, {
      engine: { speak: async () => ({ bytes: tone(1), format: "wav" }) },
      replies: [{ text: "Hello" }],
    });
    await bird.says("hi");
    await until(() => messages.length === 2, "text and audio");
    const { media } = messages[1] ?? assert.fail("no audio");
    assert.deepEqual([media?.kind, media?.name, media?.isVoice], ["audio", "answer.ogg", true]);
    const { seconds, rms } = heard(media?.bytes ?? new Uint8Array());
    assert.ok(Math.abs(seconds - 1) < 0.2 && rms > 0.05, `${seconds} s, ${rms}`);
  });

  it("is a plain file, if the network has only those; and only text without files", async (t) => {
    const files = await scene(t, { capabilities: { media: ["file"] }, replies: [{ text: "Hello" }] });
    await files.bird.says("hi");
    await until(() => files.messages.length === 2, "text and file");
    assert.equal(files.messages[1]?.media?.kind, "file");
    let asked = 0;
    const engine = {
      speak: async () => {
        asked += 1;
        return unavailable("not wanted");
      },
    };
    const none = await scene(t, { capabilities: { media: [] }, engine, replies: [{ text: "Hello" }] });
    await none.bird.says("hi");
    await until(() => none.messages.length === 1, "the text");
    assert.equal(asked, 0);
  });

  it("comes without audio, if speech fails or is too large for the network", async (t) => {
    const failing = await scene(t, {
      engine: { speak: async () => unavailable("away") },
      replies: [{ text: "Hello" }],
    });
    await failing.bird.says("hi");
    await until(() => failing.messages.length === 1, "the text");
    const large = await scene(t, { capabilities: { maxMediaBytes: 10 }, replies: [{ text: "Hello" }] });
    await large.bird.says("hi");
    await until(() => large.messages.length === 1, "the text");
    assert.deepEqual([shown(failing.messages), shown(large.messages)], [["Hello"], ["Hello"]]);
  });

  it("comes without audio, if the engine hangs and the person writes again", async (t) => {
    let begun = false;
    const engine = {
      speak: () => {
        begun = true;
        return new Promise<never>(() => undefined);
      },
    };
    const { bird, messages } = await scene(t, { engine, replies: [{ text: "One" }, { text: "Two" }] });
    await bird.says("first");
    await until(() => begun, "the engine");
    await bird.says("second");
    await until(() => messages.length > 0, "the text");
    assert.equal(shown(messages)[0], "One");
  });

  it("replaces its draft with the text; tags are shown in neither", async (t) => {
    const text = `${LONG} [[tts:text]]Other words.[[/tts:text]]`;
    const { bird, messages, edits } = await scene(t, {
      capabilities: { edits: true },
      replies: [{ text, delayMs: 20 }],
    });
    await bird.says("hi");
    await until(() => messages.some(({ media }) => media), "the audio");
    const all = [...messages.map((message) => message.text), ...edits.map((edit) => edit.text)];
    assert.ok(
      all.every((part) => !/tts|Other/.test(part)),
      JSON.stringify(all),
    );
    assert.equal((edits.at(-1)?.text ?? messages[0]?.text)?.trim(), LONG);
    assert.equal(messages.filter(({ media }) => media).length, 1);
    assert.ok(messages.length <= 2, "the draft became the answer");
  });

  it("in mode inbound is spoken after a voice message only", async (t) => {
    const { bird, messages } = await scene(t, {
      tts: { auto: "inbound" },
      replies: [{ text: "One" }, { text: "Two" }],
    });
    await bird.says("hi");
    await until(() => messages.length === 1, "the text");
    await bird.says("", { media: [{ ref: "v", kind: "audio", isVoice: true }] });
    await until(() => messages.length === 3, "text and audio");
    assert.deepEqual(shown(messages), ["One", "Two", "audio answer.mp3: "]);
  });

  it("in mode tagged is spoken if the model marks it, which its prompt explains", async (t) => {
    const replies = [{ text: "One" }, { text: "[[tts]]Two" }, { text: "[[tts:text]]Three[[/tts:text]]" }];
    const { bird, messages, model } = await scene(t, { tts: { auto: "tagged" }, replies });
    await bird.says("1");
    await until(() => messages.length === 1, "the text");
    await bird.says("2");
    await until(() => messages.length === 3, "text and audio");
    await bird.says("3");
    await until(() => messages.length === 5, "text and audio");
    assert.deepEqual(shown(messages), ["One", "Two", "audio answer.mp3: ", "Three", "audio answer.mp3: "]);
    assert.match(JSON.stringify(model.requests[0]?.body.messages?.[0]), /contains the tag \[\[tts\]\]/);
  });

  it("has no tags without the plugin tts either", async (t) => {
    const { bird, messages } = await able(t, {
      replies: [{ text: "[[tts:voice=x]]Hello [[tts:text]]no[[/tts:text]]" }],
    });
    await bird.says("hi");
    await until(() => messages.length === 1, "the text");
    assert.deepEqual(shown(messages), ["Hello"]);
  });
});

describe("the command and the tool of a channel", { timeout: 120_000 }, () => {
  it("speak into the conversation", async (t) => {
    const { bird, messages } = await scene(t, { tts: { auto: "off" } });
    await bird.says("/tts audio Good morning");
    await until(() => messages.length === 2, "audio and reply");
    assert.deepEqual(shown(messages).sort(), ["Spoken by voice-box.", "audio speech.mp3: "]);
  });
});

describe("texts that agents send without a question", { timeout: 120_000 }, () => {
  for (const [mode, count] of [
    ["final", 1],
    ["all", 2],
  ] as const) {
    it(`are ${mode === "all" ? "" : "not "}spoken in mode ${mode}`, async (t) => {
      let deliver: (() => Promise<unknown>) | undefined;
      const probe = pluginOf("beat", { requires: { delivery: live(Delivery) } }, (gateway) =>
        gateway.start(() => {
          const request = { id: "b", channel: "pigeon", to: "ann", sessionKey: "agent:main:main", text: "Tea time" };
          deliver = async () => gateway.services.delivery.get()?.deliver(request);
        }),
      );
      const { messages } = await scene(t, { tts: { mode }, plugins: [probe] });
      await deliver?.();
      assert.equal(messages.length, count);
      assert.equal(messages[0]?.text, "Tea time");
    });
  }
});
