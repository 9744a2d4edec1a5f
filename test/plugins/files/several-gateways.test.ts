/** An agent of two gateways on one database: it finds at one what it has written at the other. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents, files } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { storage } from "@svc/sdk/storage";
import type { TestGateway } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { withoutPostgres } from "../../postgres.ts";
import { startS3, withoutS3 } from "../../s3.ts";
import { soon, twoGateways } from "../two-gateways.ts";

const PLUGINS = "storage-sqlite models provider-offline sessions tools agents chat workspace config health files".split(
  " ",
);

async function two(t: TestContext, config: object) {
  const offline = { agents: { defaults: { model: "offline/offline", skipBootstrap: true } } };
  const [one, other] = await twoGateways(t, { plugins: PLUGINS, config: { ...offline, ...config } });
  await soon(() => one.gateway.others === 1 && other.gateway.others === 1, "each other");
  return [await placeOf(one), await placeOf(other)] as const;
}

async function placeOf({ connect, stateDir }: TestGateway) {
  const client = await connect({ scopes: ["operator.admin"] });
  let count = 0;
  return {
    client,
    at: (path: string) => join(stateDir, "workspace", path),
    /** The answer of the agent. */
    async says(message: string): Promise<string> {
      const runId = `${stateDir}-${++count}`;
      await client.call(chat.send, { sessionKey: "main", message, idempotencyKey: runId });
      await soon(async () => (await client.call(agents.wait, { runId, timeoutMs: 20_000 })).status === "ok", "the end");
      const { messages } = await client.call(chat.history, { sessionKey: "main", limit: 5 });
      return JSON.stringify(messages.at(-1));
    },
    set: (name: string, content: string) => client.call(agents.filesSet, { agentId: "main", name, content }),
    get: async (name: string) => (await client.call(agents.filesGet, { agentId: "main", name })).file.content,
    status: () => client.call(files.status, {}),
  };
}

describe("an agent of two gateways", { skip: withoutPostgres(), timeout: 120_000 }, () => {
  async function shares(t: TestContext, config: object): Promise<void> {
    const [one, other] = await two(t, config);
    await one.says('/tool write {"path":"notes/a.md","content":"written at one"}');
    assert.match(await other.says('/tool read {"path":"notes/a.md"}'), /written at one/);
    await other.set("AGENTS.md", "be kind");
    assert.equal(await one.get("AGENTS.md"), "be kind");
    await one.set("AGENTS.md", "be brief");
    assert.equal(await other.get("AGENTS.md"), "be brief");
    const patch = "*** Begin Patch\n*** Delete File: notes/a.md\n*** End Patch";
    assert.doesNotMatch(await other.says(`/tool apply_patch ${JSON.stringify({ patch })}`), /failed/);
    await soon(() => !existsSync(one.at("notes/a.md")), "the other one to be told");
    const { store, workspaces } = await one.status();
    const [{ agentId, files: count, error } = {}] = workspaces;
    assert.deepEqual([typeof store, agentId, count, error], ["string", "main", 1, undefined]);
    await one.client.call(storage.clean, {});
  }

  it("has its files at both, through a directory", async (t) => shares(t, { files: { directory: directory(t) } }));

  it("has its files at both, through a bucket", { skip: withoutS3() }, async (t) => {
    const { bucket } = await startS3(t);
    await shares(t, { files: { s3: bucket } });
  });

  it("has files of each gateway, unless they are shared", async (t) => {
    const [one, other] = await two(t, {});
    await one.set("AGENTS.md", "of one");
    await other.set("AGENTS.md", "of the other");
    assert.equal(await one.get("AGENTS.md"), "of one");
    assert.deepEqual(await one.status(), { workspaces: [] });
  });

  it("answers while the bucket is away, and its files follow later", { skip: withoutS3() }, async (t) => {
    const server = await startS3(t);
    const [one, other] = await two(t, { files: { s3: server.bucket } });
    await one.set("AGENTS.md", "before");
    assert.equal(await other.get("AGENTS.md"), "before");
    await server.kill();
    assert.match(await one.says('/tool write {"path":"AGENTS.md","content":"meanwhile"}'), /AGENTS.md/);
    const [{ error = "" } = {}] = (await one.status()).workspaces;
    assert.match(error, /cannot be reached/);
    await server.start();
    await one.says("hello");
    assert.equal(await other.get("AGENTS.md"), "meanwhile");
  });

  it("gets what somebody edited by hand before its next run", async (t) => {
    const [one, other] = await two(t, { files: { directory: directory(t) } });
    await one.set("AGENTS.md", "one");
    assert.equal(await other.get("AGENTS.md"), "one");
    writeFileSync(other.at("AGENTS.md"), "by hand");
    await other.says("hello");
    assert.equal(await one.get("AGENTS.md"), "by hand");
    assert.equal(readFileSync(one.at("AGENTS.md"), "utf8"), "by hand");
  });
});
