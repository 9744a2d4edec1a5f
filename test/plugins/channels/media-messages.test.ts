/** Voice messages, pictures and videos of a chat, as the run of the agent gets them. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import { startFakeModelServer } from "@svc/sdk/testing";
import { png } from "../media/image-files.ts";
import { speech, video } from "../media/sound-files.ts";
import { json, speechServer } from "../media/speech-server.ts";
import { without } from "../../programs.ts";
import { able } from "./able.ts";
import { until } from "./scene.ts";

/** A chat whose agent has a model that reads text only; pictures go to another one. */
async function chat(t: TestContext, files: Readonly<Record<string, Uint8Array>>, media: object = {}, defaults = {}) {
  const server = createServer((request, response) => {
    const body = files[(request.url ?? "").slice(1)];
    response.writeHead(body ? 200 : 404, { "content-type": "application/octet-stream" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const reader = await startFakeModelServer({ replies: () => ({ text: "fine" }) });
  const viewer = await startFakeModelServer({ replies: () => ({ text: "two red kites" }) });
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all([reader.close(), viewer.close()]);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const scene = await able(t, {
    more: { media: async ({ ref }) => ({ url: `${url}/${ref}` }) },
    config: {
      agents: { defaults: { model: "reader/one", imageModel: "viewer/two", skipBootstrap: true, ...defaults } },
      models: {
        providers: {
          reader: { baseUrl: reader.url, models: [{ id: "one", input: ["text"] }] },
          viewer: { baseUrl: viewer.url, models: [{ id: "two", input: ["text", "image"] }] },
        },
      },
      tools: { media },
    },
  });
  return {
    ...scene,
    reader,
    viewer,
    /** The content of the last message that the agent's model got, once it has answered so many. */
    async got(count = 1) {
      await until(() => scene.messages.length === count, "the answer");
      return JSON.stringify(reader.requests.at(-1)?.body.messages?.at(-1)?.content ?? "");
    },
  };
}

const sends = (ref: string, kind: "image" | "audio" | "video", more: object = {}): Partial<InboundMessage> => ({
  media: [{ ref, kind, name: `../../${ref}`, ...more }],
});

describe("a message with files", { timeout: 120_000 }, () => {
  it(
    "of speech reaches the agent as words: those of the owner as their own",
    { skip: without("espeak-ng") },
    async (t) => {
      const { url, uploads } = await speechServer(t, json({ text: "buy milk" }));
      const audio = { models: [{ provider: "reader", baseUrl: url, model: "ears" }] };
      const scene = await chat(t, { "note.wav": speech("buy milk") }, { audio });
      await scene.bird.says("", sends("note.wav", "audio", { isVoice: true }));
      const own = await scene.got();
      assert.match(own, /\[voice message \.\.\/\.\.\/note\.wav, 1 MB\] buy milk|\[voice message [^\]]*\] buy milk/);
      assert.doesNotMatch(own, /EXTERNAL/);
      assert.deepEqual([uploads[0]?.fields["model"], uploads[0]?.file.name], ["ears", "audio.wav"]);
      await scene.bird.says("listen", sends("note.wav", "audio"));
      assert.match(await scene.got(2), /EXTERNAL.*buy milk/);
    },
  );

  it("of speech follows the scope and the engines that are configured", async (t) => {
    const { url, uploads } = await speechServer(t);
    const scope = { rules: [{ action: "deny", match: { chatType: "direct" } }] };
    const bytes = Buffer.from("RIFF\0\0\0\0WAVEfmt ");
    const scene = await chat(t, { note: bytes }, { audio: { scope, models: [{ baseUrl: url }] } });
    await scene.bird.says("", sends("note", "audio", { isVoice: true }));
    assert.match(await scene.got(), /its content cannot be read: .*tools\.media\.audio\.scope/);
    assert.equal(uploads.length, 0);
  });

  it("with a picture reaches a model that reads text only as a description, once", async (t) => {
    const scene = await chat(t, { "kites.png": png(4, 4) });
    await scene.bird.says("what is it?", sends("kites.png", "image"));
    const got = await scene.got();
    assert.match(got, /what is it\?.*\[picture, described by viewer\/two\].*EXTERNAL.*two red kites/);
    assert.match(JSON.stringify(scene.viewer.requests[0]?.body.messages), /data:image\/png;base64/);
    await scene.bird.says("and now?");
    await scene.got(2);
    const conversation = JSON.stringify(scene.reader.requests.at(-1)?.body.messages);
    assert.match(conversation, /two red kites.*and now\?/);
    assert.equal(scene.viewer.requests.length, 1);
  });

  it("with a picture says why there is no description", async (t) => {
    const scene = await chat(t, { "kites.png": png(4, 4) }, { image: { enabled: false } });
    await scene.bird.says("look", sends("kites.png", "image"));
    assert.match(
      await scene.got(),
      /image left out: this model does not accept images; .*tools\.media\.image\.enabled/,
    );
    assert.equal(scene.viewer.requests.length, 0);
  });

  it("with a picture shows it to a model that accepts pictures", async (t) => {
    const scene = await chat(t, { "kites.png": png(4, 4) }, {}, { model: "viewer/two" });
    await scene.bird.says("look", sends("kites.png", "image"));
    await until(() => scene.messages.length === 1, "the answer");
    assert.equal(scene.viewer.requests.length, 1);
    assert.match(JSON.stringify(scene.viewer.requests[0]?.body.messages), /data:image\/png/);
  });

  it("with a video reaches it as described pictures and words", { skip: without("ffmpeg") }, async (t) => {
    const { url, uploads } = await speechServer(t, json({ text: "up they go" }));
    const media = { audio: { models: [{ baseUrl: url }] }, video: { maxFrames: 6 } };
    const scene = await chat(t, { "clip.mp4": video(4) }, media);
    await scene.bird.says("", sends("clip.mp4", "video"));
    const got = await scene.got();
    assert.match(got, /\[video [^\]]*clip\.mp4, [^\]]*, 4 s: 6 pictures of it\]/);
    assert.match(got, /\[its sound\].*EXTERNAL.*up they go/);
    assert.equal(got.split("two red kites").length - 1, 6);
    assert.equal(uploads[0]?.file.type, "audio/flac");
  });

  it("with a damaged video is answered, too", { skip: without("ffmpeg") }, async (t) => {
    const scene = await chat(t, { "clip.mp4": Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n") });
    await scene.bird.says("see", sends("clip.mp4", "video"));
    assert.match(await scene.got(), /its content cannot be read: the file is damaged/);
  });

  it("is refused above agents.defaults.mediaMaxMb", async (t) => {
    const scene = await chat(t, { "kites.png": png(4, 4) }, {}, { mediaMaxMb: 0.00001 });
    await scene.bird.says("look", sends("kites.png", "image"));
    assert.match(await scene.got(), /not available: it is larger than/);
  });
});
