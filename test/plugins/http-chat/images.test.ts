/** Images in messages. Spec: http/chat-completions.md §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { definePlugin, GatewayError, invalidRequest, outsideOrigin, saidAfter } from "@svc/sdk";
import { Documents } from "@svc/sdk/media";
import { OutboundFetch, type OutboundRequest } from "@svc/sdk/web";
import { scene, shown, SUITE_MS } from "./scene.ts";

const PNG = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");
const inline = (data = PNG, mime = "image/png") => `data:${mime};base64,${data}`;
const image = (url: string) => ({ type: "image_url" as const, image_url: { url } });
const user = (...urls: string[]): ChatCompletionMessageParam => ({
  role: "user",
  content: [{ type: "text", text: "What is this?" }, ...urls.map(image)],
});

/** Fake plugins: one fetches any URL, one recognizes pictures. */
function stand() {
  const fetched: OutboundRequest[] = [];
  const outbound = definePlugin({
    id: "stand-outbound",
    api: "^1.0.0",
    provides: [OutboundFetch],
    setup: (gateway) =>
      gateway.provide(OutboundFetch, {
        async fetch(request) {
          fetched.push(request);
          const { url } = request;
          if (url.includes("private")) invalidRequest("the address is not public");
          if (url.includes("down")) throw new GatewayError("UNAVAILABLE", "the host does not answer");
          const body = Buffer.from(PNG, "base64");
          const contentType = url.endsWith(".html") ? "text/html" : "image/png";
          return { status: 200, url, headers: {}, contentType, charset: undefined, body };
        },
      }),
  });
  const documents = definePlugin({
    id: "stand-documents",
    api: "^1.0.0",
    provides: [Documents],
    setup: (gateway) =>
      gateway.provide(Documents, {
        read: () => invalidRequest("not here"),
        async image(bytes) {
          const data = Buffer.from(bytes).toString("base64");
          return data.startsWith("iVBOR")
            ? { type: "image", data, mimeType: "image/png" }
            : invalidRequest("this is no picture");
        },
      }),
  });
  return { fetched, outbound, documents };
}

describe("images", { timeout: SUITE_MS }, () => {
  it("of the latest message and of earlier ones are shown to the model; earlier ones by URL are not fetched", async (t) => {
    const it = await scene(t);
    await it.openai.chat.completions.create({
      model: "svc",
      messages: [
        user(inline(), "https://example.com/a.png"),
        { role: "assistant", content: "A dot" },
        { role: "user", content: [image(inline())] },
      ],
    });
    const [, first, , last] = it.server.requests[0]?.body.messages ?? [];
    const wire = { type: "image_url", image_url: { url: inline() } };
    assert.deepEqual(first?.content, [
      { type: "text", text: "What is this?" },
      wire,
      { type: "text", text: "[image left out: only images of the latest message are fetched]" },
    ]);
    assert.equal(it.seen.ended.at(-1)?.origin, undefined, "what the caller sends is the caller's");
    const { content } = last ?? assert.fail("no second question");
    assert.deepEqual(Array.isArray(content) && content.at(-1), wire);
    assert.equal(shown(it).length, 4);
  });

  const rows: [what: string, endpoint: object, message: ChatCompletionMessageParam, param: string, why: RegExp][] = [
    [
      "a URL",
      {},
      user("https://example.com/a.png"),
      "messages[0].content[1].image_url.url",
      /URLs are not fetched here/,
    ],
    ["what is no URL", {}, user("file:///etc/passwd"), "messages[0].content[1].image_url.url", /data URL or an http/],
    [
      "another type",
      {},
      user(inline(PNG, "image/svg+xml")),
      "messages[0].content[1].image_url.url",
      /image\/svg\+xml is not taken/,
    ],
    ["bad base64", {}, user("data:image/png;base64,%%%%"), "messages[0].content[1].image_url.url", /not base64/],
    ["a text", {}, user("data:image/png,abc"), "messages[0].content[1].image_url.url", /must be base64/],
    [
      "one that is too large",
      { images: { maxBytes: 7 } },
      user(inline()),
      "messages[0].content[1].image_url.url",
      /at most 7/,
    ],
    [
      "too much in all",
      { images: { maxTotalBytes: 15 } },
      user(inline(), inline()),
      "messages[0].content[2].image_url.url",
      /larger than 15 bytes/,
    ],
    [
      "too many",
      { images: { maxParts: 1 } },
      user(inline(), inline()),
      "messages[0].content[2].image_url.url",
      /more than 1 images/,
    ],
    [
      "one of the assistant",
      {},
      { role: "assistant", content: [image(inline())] as never },
      "messages[0].content[0].type",
      /of the user only/,
    ],
    [
      "audio",
      {},
      { role: "user", content: [{ type: "input_audio", input_audio: { data: "x", format: "wav" } }] },
      "messages[0].content[0].type",
      /audio/,
    ],
    [
      "a file",
      {},
      { role: "user", content: [{ type: "file", file: { file_id: "f" } }] },
      "messages[0].content[0].type",
      /files are not supported/,
    ],
  ];
  for (const [what, endpoint, message, param, why] of rows) {
    it(`do not include ${what}`, async (t) => {
      const { openai } = await scene(t, { endpoint });
      const asking = openai.chat.completions.create({ model: "svc", messages: [message] });
      await assert.rejects(asking, { status: 400, type: "invalid_request_error", param, message: why });
    });
  }

  it("by URL are fetched within limits where that is allowed, and looked at", async (t) => {
    const { fetched, outbound, documents } = stand();
    const it = await scene(t, {
      endpoint: {
        images: { allowUrl: true, urlAllowlist: ["*.example.com"], maxBytes: 99, maxRedirects: 1, timeoutMs: 5_000 },
      },
      plugins: [outbound, documents],
    });
    const ask = (url: string) => it.openai.chat.completions.create({ model: "svc", messages: [user(url)] });
    await ask("https://a.example.com/x.png");
    const [{ signal, ...request } = { signal: undefined }] = fetched;
    assert.ok(signal instanceof AbortSignal);
    assert.deepEqual(request, {
      url: "https://a.example.com/x.png",
      allowHosts: ["*.example.com"],
      maxBytes: 99,
      maxRedirects: 1,
      timeoutMs: 5_000,
    });
    assert.match(shown(it).at(-1) ?? "", /data:image\/png;base64,iVBOR/);
    const led = saidAfter(outsideOrigin("web", "a picture"));
    assert.deepEqual(it.seen.ended.at(-1)?.origin, led, "whose words led to the answer");
    await assert.rejects(ask("https://private.example.com/x"), { status: 400, message: /not public/ });
    await assert.rejects(ask("https://a.example.com/x.html"), { status: 400, message: /text\/html is not taken/ });
    await assert.rejects(ask("https://down.example.com/x"), { status: 503, message: /does not answer/ });
    await assert.rejects(ask(inline("AAAA")), { status: 400, message: /no picture/ });
  });

  it("by URL need the plugin that fetches", async (t) => {
    const { openai } = await scene(t, { endpoint: { images: { allowUrl: true } } });
    const asking = openai.chat.completions.create({ model: "svc", messages: [user("https://example.com/a.png")] });
    await assert.rejects(asking, { status: 503, message: /`outbound` is not running/ });
  });
});
