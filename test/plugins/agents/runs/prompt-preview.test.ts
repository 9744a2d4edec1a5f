/** `agents.prompt.preview` in a running gateway, compared with what a model then gets. */
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { temporaryDirectory } from "../temporary.ts";

const PLUGINS = ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents"];

it("shows what a new conversation sends, part by part, and changes nothing", async (t) => {
  const stateDir = await temporaryDirectory(t);
  const model = await startFakeModelServer();
  t.after(() => model.close());
  const adds = definePlugin({
    id: "adds",
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.hooks.runPrompt.tap(async (prompt) => ({ ...prompt, system: `${prompt.system}\n\nAdded at the end.` })),
  });
  const { client } = await testGateway(t, {
    plugins: [...PLUGINS, adds],
    stateDir,
    config: {
      models: { providers: { fake: { baseUrl: model.url, models: [{ id: "fake-model" }] } } },
      agents: {
        defaults: { bootstrapMaxChars: 10, skipBootstrap: true },
        list: [{ id: "main", systemPrompt: "Be kind." }],
      },
    },
  });
  const bare = await client.call(agents.promptPreview, {});
  assert.deepEqual(
    bare.sections.map(({ kind, text }) => [kind, text]),
    [
      ["instructions", "Be kind."],
      ["plugins", "Added at the end."],
    ],
  );
  assert.ok(!(await readdir(stateDir)).includes("workspace"), "a preview creates no workspace");

  await mkdir(join(stateDir, "workspace"), { recursive: true });
  await writeFile(join(stateDir, "workspace", "SOUL.md"), "0123456789 and more");
  const { sections, chars, tools, model: first } = await client.call(agents.promptPreview, { agentId: "main" });
  const [, soul] = sections;
  assert.deepEqual(
    [soul?.kind, soul?.title, soul?.chars, soul?.fileChars, soul?.truncated],
    ["file", "SOUL.md", 10, 19, true],
  );
  assert.match(soul?.text ?? "", /^0123456789\n\[\.\.\. SOUL\.md is cut here\]$/);
  assert.equal(first, "fake/fake-model");

  await client.call(agents.run, { message: "hi", idempotencyKey: "one" });
  await client.call(agents.wait, { runId: "one" });
  const [sent] = model.requests.map(
    ({ body }) => body as unknown as { messages: readonly { content: string }[]; tools?: unknown[] },
  );
  assert.equal(sent?.messages[0]?.content.length, chars);
  assert.equal(sent?.tools?.length ?? 0, tools.length);
  await assert.rejects(client.call(agents.promptPreview, { agentId: "nope" }), { code: "NOT_FOUND" });
});
