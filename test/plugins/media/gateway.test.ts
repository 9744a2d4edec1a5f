/** The plugin in a whole gateway: an agent looks at files of its workspace through a model server. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { Documents } from "@svc/sdk/media";
import { type FakeModelReply, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { png } from "./image-files.ts";
import { pdf, says, square } from "./pdf-files.ts";

const PLUGINS = ["storage-sqlite", "sessions", "models", "provider-openai", "agents", "tools", "media"];

async function start(t: TestContext, replies: readonly FakeModelReply[]) {
  const server = await startFakeModelServer({ replies });
  const workspace = await mkdtemp(join(tmpdir(), "svc-media-"));
  t.after(() => Promise.all([server.close(), rm(workspace, { recursive: true, force: true })]));
  let documents: Documents | undefined;
  const borrower = definePlugin({
    id: "borrower",
    api: "^1.0.0",
    requires: { documents: Documents },
    setup: ({ services, start: begin }) => begin(() => void (documents = services.documents)),
  });
  const models = [{ id: "sees", input: ["text", "image"] }, { id: "reads" }];
  const { client, gateway } = await testGateway(t, {
    plugins: [...PLUGINS, borrower],
    config: {
      models: { providers: { fake: { baseUrl: server.url, models } } },
      agents: { defaults: { model: "fake/reads", workspace, skipBootstrap: true } },
    },
  });
  return {
    server,
    client,
    gateway,
    documents: documents ?? assert.fail(JSON.stringify(gateway.plugins())),
    put: (name: string, bytes: Uint8Array) => writeFile(join(workspace, name), bytes),
  };
}

const shownTo = (request: { readonly body: object } | undefined) => JSON.stringify(request?.body);

describe("media in a gateway", { timeout: 120_000 }, () => {
  const tools: [name: string, file: string, bytes: Buffer, args: object][] = [
    ["image", "cat.png", png(2, 2), { prompt: "What is this?", image: "cat.png" }],
    ["pdf", "scan.pdf", pdf([square]), { prompt: "What is this?", pdf: "scan.pdf" }],
  ];
  for (const [name, file, bytes, args] of tools) {
    it(`lets an agent ask about a file with the tool ${name}`, async (t) => {
      const replies = [
        { toolCalls: [{ name, arguments: args }] },
        { text: "a red square" },
        { text: "It is a red square." },
      ];
      const { client, server, put } = await start(t, replies);
      await put(file, bytes);
      await client.call(agents.run, { message: "Look", idempotencyKey: "r1", sessionKey: "main" });
      const ended = await client.call(agents.wait, { runId: "r1", timeoutMs: 30_000 });
      assert.equal(ended.status, "ok");
      const [, looking, telling] = server.requests;
      assert.equal(looking?.body.model, "sees");
      assert.match(shownTo(looking), /data:image\/png;base64,/);
      assert.equal(looking.body.tools, undefined);
      assert.match(shownTo(telling), /"content":"a red square"/);
    });
  }

  it("reads documents for other plugins", async (t) => {
    const { gateway, documents } = await start(t, []);
    assert.equal(gateway.plugins().find(({ id }) => id === "media")?.state, "active");
    const limits = { maxChars: 100, pdf: { maxPages: 4, maxPixels: 4_000_000, minTextChars: 1 } };
    const file = { bytes: pdf([says("Hello")]), mimeType: "application/pdf" };
    assert.deepEqual(await documents.read(file, limits), { text: "Hello", images: [], isCut: false });
  });
});
