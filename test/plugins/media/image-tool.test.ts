import assert from "node:assert/strict";
import { link, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { outsideOrigin, saidAfter } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { toolContract } from "@svc/sdk/testing";
import { imageTool } from "../../../plugins/media/tools/image-tool.ts";
import { pdfTool } from "../../../plugins/media/tools/pdf-tool.ts";
import { gif, jpeg, png } from "./image-files.ts";
import { model, openScene, READS, SEES, says, type SceneOptions, shown, use } from "./scene.ts";

const dataUrl = (bytes: Buffer, type = "image/png") => `data:${type};base64,${bytes.toString("base64")}`;

describe("the tool image", () => {
  it("keeps the contract of a tool", async (t) => {
    const { mediaServices, put } = await openScene(t);
    await put("cat.png", png(2, 2));
    await toolContract(t, {
      tool: imageTool(mediaServices),
      name: "image",
      samples: [{ prompt: "What is this?", image: "cat.png" }],
      invalid: [
        { prompt: "", image: "cat.png" },
        { prompt: "x", images: [] },
        { prompt: "x", images: Array(9).fill("a") },
      ],
    });
  });

  it("is for runs only", async (t) => {
    const { mediaServices } = await openScene(t);
    for (const { runOnly, scope } of [imageTool(mediaServices), pdfTool(mediaServices)])
      assert.deepEqual([runOnly, scope], [true, "operator.read"]);
  });

  it("shows a picture of the workspace to a model that sees, and answers what it says", async (t) => {
    const { mediaServices, put, asked } = await openScene(t);
    await put("pictures/cat.png", png(2, 2));
    const result = await use(imageTool(mediaServices), { prompt: "What is this?", image: "pictures/cat.png" });
    assert.deepEqual(result.content, [{ type: "text", text: "a cat" }]);
    const usage = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10 };
    assert.deepEqual(result.details, { text: "a cat", model: "fake/sees", sources: ["pictures/cat.png"], usage });
    assert.deepEqual(shown(asked[0]), ["Picture: pictures/cat.png", "image/png", "What is this?"]);
    assert.deepEqual([asked[0]?.tools, asked[0]?.sessionKey], [[], "agent:main:main"]);
  });

  it("takes several at once, wherever they are", async (t) => {
    const { mediaServices, put, asked, urls, workspace } = await openScene(t, {
      fetched: { contentType: "image/gif", body: gif(3, 3) },
    });
    await put("a.jpg", jpeg(1, 1));
    const images = ["./a.jpg", "https://example.org/x.gif", dataUrl(png(1, 1)), join(workspace, "a.jpg")];
    await use(imageTool(mediaServices), { prompt: "Compare", images });
    const types = shown(asked[0]).filter((text) => text.startsWith("image/"));
    assert.deepEqual(types, ["image/jpeg", "image/gif", "image/png", "image/jpeg"]);
    assert.deepEqual(urls, ["https://example.org/x.gif"]);
    assert.ok(shown(asked[0]).includes("Picture: data URL 3"));
  });

  it("marks an answer about fetched content as external content", async (t) => {
    const { mediaServices } = await openScene(t, { fetched: { contentType: "image/gif", body: gif(3, 3) } });
    const result = await use(imageTool(mediaServices), { prompt: "What?", image: "https://example.org/x.gif" });
    assert.match(
      textOf(result),
      /^SECURITY: [\s\S]*Source: Web fetch\nFrom: https:\/\/example.org\/x.gif\n---\na cat\n/,
    );
    assert.equal((result.details as { text: string }).text, "a cat");
  });

  it("records the origin of an answer: a URL, or a file", async (t) => {
    const page = outsideOrigin("web", "https://evil.example/");
    const { mediaServices, put } = await openScene(t, {
      fetched: { contentType: "image/gif", body: gif(3, 3) },
      origins: { of: async (_agent, names) => (names.includes("saved.png") ? page : undefined) },
    });
    for (const name of ["saved.png", "own.png"]) await put(name, png(1, 1));
    const whose = async (image: string) => (await use(imageTool(mediaServices), { prompt: "?", image })).origin;
    const address = "https://example.org/x.gif";
    assert.deepEqual(await whose(address), saidAfter(outsideOrigin("web", address)));
    assert.deepEqual([await whose("saved.png"), await whose("own.png")], [saidAfter(page), undefined]);
  });

  const choices: [what: string, options: SceneOptions, asked: string | undefined, used: string][] = [
    ["the default one when it sees", { models: [SEES, model("other")] }, undefined, "sees"],
    ["the default one when nobody knows", { models: [model("mystery"), SEES] }, undefined, "mystery"],
    [
      "the first that sees when the default one does not",
      { models: [READS, model("mystery"), SEES] },
      undefined,
      "sees",
    ],
    ["the one asked for", { models: [SEES, model("other", ["image"])] }, "fake/other", "other"],
    [
      "the configured one before all others",
      { models: [SEES, model("other")], config: { model: "other" } },
      "sees",
      "other",
    ],
  ];
  for (const [what, options, ref, used] of choices) {
    it(`asks ${what}`, async (t) => {
      const { mediaServices, asked } = await openScene(t, options);
      await use(imageTool(mediaServices), {
        prompt: "?",
        image: dataUrl(png(1, 1)),
        ...(ref === undefined ? {} : { model: ref }),
      });
      assert.deepEqual(
        asked.map(({ model: { id } }) => id),
        [used],
      );
    });
  }

  const refused: [what: string, args: object, options: SceneOptions, code: string, message: RegExp][] = [
    ["no picture at all", {}, {}, "INVALID_REQUEST", /image or images is required/],
    ["nine of them", { image: "a", images: "bcdefghi".split("") }, {}, "INVALID_REQUEST", /at most 8/],
    ["a file that is not there", { image: "no.png" }, {}, "NOT_FOUND", /^no.png: .*no such file/],
    [
      "a way out of the workspace",
      { image: "../../etc/passwd" },
      {},
      "INVALID_REQUEST",
      /not a path below the workspace/,
    ],
    [
      "a place outside of it",
      { image: "/etc/hostname" },
      {},
      "INVALID_REQUEST",
      /is outside the workspace; write a path below it/,
    ],
    ...["other/cat.png", "./other/cat.png", "OTHER/cat.png", "state/cat.png", "state"].map(
      (image): [string, object, SceneOptions, string, RegExp] => [
        `${image}, which belongs to others`,
        { image },
        {},
        "INVALID_REQUEST",
        /belongs to the gateway or to another agent; use other files of the workspace/,
      ],
    ),
    ["a link", { image: "link.png" }, {}, "INVALID_REQUEST", /symbolic link/],
    ["a second name", { image: "twin.png" }, {}, "INVALID_REQUEST", /hard links/],
    ["another scheme", { image: "file:///etc/passwd" }, {}, "INVALID_REQUEST", /only http, https and data URLs/],
    [
      "a page in the place of a picture",
      { image: "https://example.org/" },
      {},
      "INVALID_REQUEST",
      /text\/html is not taken/,
    ],
    [
      "text in the clothes of a picture",
      { image: dataUrl(Buffer.from("hello")) },
      {},
      "INVALID_REQUEST",
      /^data URL 1: .*not a png/,
    ],
    [
      "too many bytes",
      { image: "cat.png" },
      { config: { maxBytes: 20 } },
      "INVALID_REQUEST",
      /26 bytes are too many: at most 20/,
    ],
    ["too many pixels", { image: dataUrl(png(20_000, 20_000)) }, {}, "INVALID_REQUEST", /at most 100000000/],
    [
      "models that only read",
      { image: "cat.png" },
      { models: [READS] },
      "UNAVAILABLE",
      /no configured model accepts images; add a model .*models\.providers/,
    ],
    [
      "a chosen model that only reads",
      { image: "cat.png", model: "reads" },
      { models: [SEES, READS] },
      "UNAVAILABLE",
      /fake\/reads does not accept images; set tools\.media\.model/,
    ],
    ["a model nobody has", { image: "cat.png", model: "gone" }, {}, "NOT_FOUND", /no such model/],
    ["an empty answer", { image: "cat.png" }, { answer: () => says(" ") }, "UNAVAILABLE", /returned no text/],
  ];
  for (const [what, args, options, code, message] of refused) {
    it(`refuses ${what}`, async (t) => {
      const { mediaServices, put, workspace } = await openScene(t, options);
      for (const name of ["cat.png", "other/cat.png", "state/cat.png"]) await put(name, png(1, 1));
      await put("twin.png", png(1, 1));
      await link(join(workspace, "twin.png"), join(workspace, "twin-2.png"));
      await symlink(join(workspace, "cat.png"), join(workspace, "link.png"));
      await assert.rejects(use(imageTool(mediaServices), { prompt: "?", ...args }), { code, message });
    });
  }

  it("refuses documents that belong to others, too", async (t) => {
    const { mediaServices, put } = await openScene(t);
    for (const pdf of ["other/a.pdf", "OTHER/a.pdf", "state/a.pdf"]) {
      await put(pdf, Buffer.from("%PDF-1.7"));
      const refused = { code: "INVALID_REQUEST", message: /belongs to the gateway or to another agent/ };
      await assert.rejects(use(pdfTool(mediaServices), { prompt: "?", pdf }), refused, pdf);
    }
  });

  it("says which plugin is missing", async (t) => {
    const { mediaServices } = await openScene(t);
    const tool = imageTool({ ...mediaServices, models: () => undefined, outbound: () => undefined });
    const ask = (image: string) => use(tool, { prompt: "?", image });
    await assert.rejects(ask(dataUrl(png(1, 1))), { code: "UNAVAILABLE", message: /plugin `models`/ });
    await assert.rejects(ask("https://example.org/x"), { code: "UNAVAILABLE", message: /plugin `outbound`/ });
  });

  it("says that an answer was cut off by its length", async (t) => {
    async function* long() {
      yield { type: "text" as const, delta: "a ca" };
      yield { type: "finish" as const, reason: "length" as const };
    }
    const { mediaServices } = await openScene(t, { answer: long });
    assert.match(
      textOf(await use(imageTool(mediaServices), { prompt: "?", image: dataUrl(png(1, 1)) })),
      /^a ca\n\[cut: /,
    );
  });

  it("gives up when its time is over, and when its run ends", async (t) => {
    // oxlint-disable-next-line require-yield -- it only waits
    async function* waits(_request: unknown, signal: AbortSignal) {
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    }
    const { mediaServices, clock, asked } = await openScene(t, { answer: waits, config: { timeoutSeconds: 30 } });
    const args = { prompt: "?", image: dataUrl(png(1, 1)) };
    const late = assert.rejects(use(imageTool(mediaServices), args), {
      code: "UNAVAILABLE",
      message: /longer than 30 seconds.*tools\.media\.timeoutSeconds/,
    });
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([late, clock.advance(30_000)]);

    const stopping = new AbortController();
    const stopped = assert.rejects(use(imageTool(mediaServices), args, stopping.signal), {
      message: "the run is over",
    });
    setImmediate(() => stopping.abort(new Error("the run is over")));
    await stopped;
    assert.equal(clock.pending, 0);
  });
});
