/** Pictures for models that do not accept them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unavailable } from "@svc/sdk";
import type { ImageDescriptions } from "@svc/sdk/media";
import type { ImageBlock, Message } from "@svc/sdk/models";
import { DescribedImages, takesImages } from "../../../../plugins/agents/runs/described.ts";

const TEXT_ONLY = { input: ["text"] };
const image = (data: string): ImageBlock => ({ type: "image", data, mimeType: "image/png" });
const user = (...images: readonly ImageBlock[]): Message => ({
  role: "user",
  content: [{ type: "text", text: "look" }, ...images],
  timestamp: 1,
});
const result = (...content: readonly ImageBlock[]): Message => ({
  role: "toolResult",
  toolCallId: "c",
  toolName: "screenshot",
  content,
  isError: false,
  timestamp: 1,
});
const textsOf = (messages: readonly Message[]) =>
  messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : block.type)));

function scene(describePicture?: ImageDescriptions["describe"]) {
  const asked: string[] = [];
  const service: ImageDescriptions = {
    describe(picture, ...rest) {
      asked.push(picture.data);
      return describePicture?.(picture, ...rest) ?? Promise.resolve({ text: `a ${picture.data}`, by: "fake/sees" });
    },
  };
  const stopping = new AbortController();
  const place = { sessionKey: "agent:main:main" };
  const described = new DescribedImages(() => service, place, stopping.signal);
  return { asked, described, stopping };
}

describe("pictures in a conversation", () => {
  it("are left to models that accept them, or do not say", async () => {
    const { asked, described } = scene();
    const messages = [user(image("cat"))];
    for (const input of [["text", "image"], undefined]) {
      const model = input ? { input } : {};
      assert.equal(takesImages(model), true);
      assert.equal(await described.shown(messages, model), messages);
    }
    assert.deepEqual(asked, []);
  });

  it("are described for others, those of tools, too, each once in a run", async () => {
    const { asked, described } = scene();
    const messages = [user(image("cat")), result(image("page"))];
    const first = textsOf(await described.shown(messages, TEXT_ONLY));
    assert.deepEqual(first, [
      "look",
      "[picture, described by fake/sees]\na cat",
      "[picture, described by fake/sees]\na page",
    ]);
    const more = [...messages, result(image("next"))];
    assert.deepEqual(textsOf(await described.shown(more, TEXT_ONLY)).slice(0, 3), first);
    assert.deepEqual(asked, ["cat", "page", "next"]);
  });

  it("are described up to the newest eight", async () => {
    const { asked, described } = scene();
    const images = Array.from({ length: 10 }, (_, index) => image(`p${index}`));
    const [, ...texts] = textsOf(await described.shown([user(...images)], TEXT_ONLY));
    assert.equal(asked.length, 8);
    assert.deepEqual(texts.slice(0, 2), Array(2).fill("[image left out: this model does not accept images]"));
    assert.match(texts[2] ?? "", /a p2/);
  });

  it("are left out with the reason, which is not asked for again", async () => {
    const { asked, described } = scene(() => unavailable("no model describes pictures"));
    const messages = [user(image("cat"))];
    const told = "[image left out: this model does not accept images; no model describes pictures]";
    assert.deepEqual(textsOf(await described.shown(messages, TEXT_ONLY)), ["look", told]);
    await described.shown(messages, TEXT_ONLY);
    assert.equal(asked.length, 1);
  });

  it("are left out without the service", async () => {
    const described = new DescribedImages(() => undefined, {}, new AbortController().signal);
    const shown = await described.shown([user(image("cat"))], TEXT_ONLY);
    assert.deepEqual(textsOf(shown), ["look", "[image left out: this model does not accept images]"]);
  });

  it("end with the run", async () => {
    const { described, stopping } = scene(
      (_, signal) => new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("x")))),
    );
    const waiting = described.shown([user(image("cat"))], TEXT_ONLY);
    waiting.catch(() => undefined);
    stopping.abort(new Error("stopped"));
    await assert.rejects(waiting, /stopped/);
  });
});
