/** The plugin in a whole gateway: an agent looks at files of its workspace through a model server. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { config } from "@svc/sdk/config";
import { Documents, media } from "@svc/sdk/media";
import { type FakeModelReply, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { directory, put } from "../../directory.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { png } from "./image-files.ts";
import { pdf, says, square } from "./pdf-files.ts";
import { speech, video } from "./sound-files.ts";
import { json, speechServer } from "./speech-server.ts";

const PLUGINS = [
  "storage-sqlite",
  "sessions",
  "models",
  "provider-openai",
  "agents",
  "tools",
  "media",
  "secrets",
  "config",
];

interface Sections {
  readonly providers?: object;
  readonly [section: string]: object | undefined;
}

/** @param sections of `tools.media`, and further providers */
async function start(
  t: TestContext,
  replies: readonly FakeModelReply[],
  sections: (url: string) => Sections = () => ({}),
) {
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
  const { providers = {}, ...mediaSections } = sections(server.url);
  const stateDir = directory(t);
  // A file, which `config.patch` can change.
  put(
    join(stateDir, "svc.json"),
    JSON.stringify({
      models: { providers: { fake: { baseUrl: server.url, models }, ...providers } },
      agents: { defaults: { model: "fake/reads", imageModel: "fake/sees", workspace, skipBootstrap: true } },
      tools: { media: mediaSections },
    }),
    0o600,
  );
  const { client, gateway } = await testGateway(t, {
    plugins: [...PLUGINS, borrower],
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
  });
  return {
    server,
    client,
    gateway,
    documents: documents ?? assert.fail(JSON.stringify(gateway.plugins())),
    save: (name: string, bytes: Uint8Array) => writeFile(join(workspace, name), bytes),
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
      const { client, server, save } = await start(t, replies);
      await save(file, bytes);
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

  it("transcribes with the account of a provider, and describes pictures and videos, for people who try it", async (t) => {
    const { client, server } = await start(t, [{ text: "a red square" }], (url) => ({
      audio: { models: [{ provider: "ears", model: "large" }] },
      providers: { ears: { baseUrl: url, apiKey: "k-1", models: [] } },
    }));
    const data = Buffer.from("RIFF\0\0\0\0WAVEfmt ").toString("base64");
    await assert.rejects(client.call(media.transcribe, { data }), { message: without("ffmpeg") ? /404/ : /damaged/ });
    const seen = await client.call(media.describe, { data: png(2, 2).toString("base64") });
    assert.match(seen.descriptions[0]?.text ?? "", /a red square/);
    assert.equal(seen.descriptions[0]?.by, "fake/sees");
    assert.match(shownTo(server.requests[0]), /data:image\/png;base64,/);
    await assert.rejects(client.call(media.describe, { data: "?" }), { message: /not base64/ });
  });

  it(
    "transcribes real speech for people who try it",
    { skip: without("ffmpeg") || without("espeak-ng") },
    async (t) => {
      const ears = await speechServer(t, json({ text: "hello" }));
      const { client } = await start(t, [], () => ({
        audio: { models: [{ provider: "ears", model: "large" }] },
        providers: { ears: { baseUrl: ears.url, apiKey: "k-9", models: [] } },
      }));
      const data = speech().toString("base64");
      assert.deepEqual(await client.call(media.transcribe, { data }), { text: "hello" });
      assert.deepEqual(
        [ears.uploads[0]?.headers.authorization, ears.uploads[0]?.fields["model"]],
        ["Bearer k-9", "large"],
      );
      await client.call(config.patch, {
        raw: JSON.stringify({ tools: { media: { audio: { enabled: false } } } }),
        baseHash: (await client.call(config.get, {})).hash,
      });
      await until(async () =>
        client.call(media.transcribe, { data }).then(
          () => false,
          (error: Error) => /tools\.media\.audio\.enabled/.test(error.message),
        ),
      );
    },
  );

  it("describes a video for people who try it", { skip: without("ffmpeg") }, async (t) => {
    const { client } = await start(t, [{ text: "red" }, { text: "blue" }], () => ({ video: { maxFrames: 2 } }));
    const seen = await client.call(media.describe, { data: video(2).toString("base64") });
    assert.equal(seen.seconds, 2);
    assert.deepEqual(
      seen.descriptions.map(({ text }) => /(red|blue)/.exec(text.split("---")[1] ?? "")?.[1]),
      ["red", "blue"],
    );
  });

  it("reads documents for other plugins", async (t) => {
    const { gateway, documents } = await start(t, []);
    assert.equal(gateway.plugins().find(({ id }) => id === "media")?.state, "active");
    const limits = { maxChars: 100, pdf: { maxPages: 4, maxPixels: 4_000_000, minTextChars: 1 } };
    const file = { bytes: pdf([says("Hello")]), mimeType: "application/pdf" };
    assert.deepEqual(await documents.read(file, limits), { text: "Hello", images: [], isCut: false });
  });
});
