/** What `agents.defaults` says about files, for the tools. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unavailable } from "@svc/sdk";
import { imageTool } from "../../../plugins/media/tools/image-tool.ts";
import { pdfTool } from "../../../plugins/media/tools/pdf-tool.ts";
import { png } from "./image-files.ts";
import { pdf, says as page } from "./pdf-files.ts";
import { model, openScene, READS, says, type SceneOptions, SEES, use } from "./scene.ts";

const OTHER = model("other", ["text", "image"]);
const picture = `data:image/png;base64,${png(1, 1).toString("base64")}`;
const document = `data:application/pdf;base64,${pdf([page("Hello")]).toString("base64")}`;
const read = () => ({ texts: [{ page: 1, text: "Hello" }] });

describe("models of agents.defaults", () => {
  const cases: [what: string, options: SceneOptions, args: object, asked: string[]][] = [
    ["look at pictures before the default model", { defaults: { imageModels: ["other"] } }, {}, ["other"]],
    ["give way to the model of the call", { defaults: { imageModels: ["other"] } }, { model: "sees" }, ["sees"]],
    [
      "give way to tools.media.model",
      { defaults: { imageModels: ["other"] }, config: { model: "sees" } },
      {},
      ["sees"],
    ],
    ["are skipped if they do not exist or accept none", { defaults: { imageModels: ["gone", "reads"] } }, {}, ["sees"]],
    [
      "are tried in order",
      {
        defaults: { imageModels: ["other", "sees"] },
        answer: ({ model: { id } }) => (id === "other" ? unavailable("busy") : says("a cat")),
      },
      {},
      ["other", "sees"],
    ],
  ];
  for (const [what, options, args, expected] of cases) {
    it(what, async (t) => {
      const { mediaServices, asked } = await openScene(t, { models: [SEES, OTHER, READS], ...options });
      await use(imageTool(mediaServices), { prompt: "What?", image: picture, ...args });
      assert.deepEqual(
        asked.map(({ model: { id } }) => id),
        expected,
      );
    });
  }

  it("fail with the error of the last one", async (t) => {
    const answer = () => unavailable("busy");
    const defaults = { imageModels: ["other", "sees"] };
    const { mediaServices } = await openScene(t, { models: [SEES, OTHER], defaults, answer });
    await assert.rejects(use(imageTool(mediaServices), { prompt: "What?", image: picture }), /busy/);
  });

  const ofPdf: [what: string, defaults: NonNullable<SceneOptions["defaults"]>, asked: string][] = [
    ["pdfModel reads PDFs", { pdfModels: ["reads"], imageModels: ["other"] }, "reads"],
    ["imageModel does without a pdfModel", { imageModels: ["other"] }, "other"],
  ];
  for (const [what, defaults, expected] of ofPdf) {
    it(what, async (t) => {
      const { mediaServices, asked } = await openScene(t, { models: [SEES, OTHER, READS], defaults, pdf: read });
      await use(pdfTool(mediaServices), { prompt: "What?", pdf: document });
      assert.equal(asked[0]?.model.id, expected);
    });
  }
});

describe("limits of agents.defaults", () => {
  it("pdfMaxPages replaces tools.media.pdf.maxPages", async (t) => {
    const options = { defaults: { pdfMaxPages: 3 }, config: { pdf: { maxPages: 9 } }, pdf: read };
    const { mediaServices, jobs } = await openScene(t, options);
    await use(pdfTool(mediaServices), { prompt: "What?", pdf: document });
    assert.equal(jobs[0]?.maxPages, 3);
  });

  it("pdfMaxBytesMb replaces tools.media.maxBytes, for PDFs only", async (t) => {
    const { mediaServices } = await openScene(t, { defaults: { pdfMaxBytesMb: 0.0001 }, pdf: read });
    await assert.rejects(use(pdfTool(mediaServices), { prompt: "What?", pdf: document }), /100/);
    await use(imageTool(mediaServices), { prompt: "What?", image: picture });
    const larger = await openScene(t, { defaults: { pdfMaxBytesMb: 1 }, config: { maxBytes: 10 }, pdf: read });
    await use(pdfTool(larger.mediaServices), { prompt: "What?", pdf: document });
  });
});
