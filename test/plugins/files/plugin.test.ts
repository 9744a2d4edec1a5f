/** The plugin in one gateway: its settings, its method and its command. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents, files } from "@svc/sdk/agents";
import { storage } from "@svc/sdk/storage";
import { runCommand, type TestGateway, testGateway } from "@svc/sdk/testing";
import commands from "../../../plugins/files/cli.ts";
import { twoStores } from "../../../plugins/files/config.ts";
import { systemClock } from "../../../host/clock.ts";
import { startS3, withoutS3 } from "../../s3.ts";
import { until } from "../../until.ts";

const PLUGINS = ["storage-sqlite", "models", "sessions", "tools", "agents", "workspace", "config", "files"];

async function start(t: TestContext, settings: object, more: object = {}) {
  const config = { agents: { defaults: { skipBootstrap: true } }, files: settings };
  const gateway = await testGateway(t, { plugins: PLUGINS, config, ...more });
  const client = await gateway.connect({ scopes: ["operator.admin"] });
  const workspace = join(gateway.stateDir, "workspace");
  return {
    ...gateway,
    client,
    write(path: string, content: string) {
      mkdirSync(join(workspace, path, ".."), { recursive: true });
      writeFileSync(join(workspace, path), content);
    },
    /** The workspace once everything of it is stored. */
    async stored(count: number) {
      await client.call(agents.filesSet, { agentId: "main", name: "AGENTS.md", content: "be kind" });
      let [found] = (await client.call(files.status, {})).workspaces;
      await until(async () => {
        [found] = (await client.call(files.status, {})).workspaces;
        return found?.syncedAt !== undefined && found.files === count;
      }, "the files to be stored");
      return found ?? assert.fail();
    },
  };
}

const shownBy = async ({ connect }: Pick<TestGateway, "connect">) =>
  (await runCommand(commands, "files status", { connect: () => connect({ scopes: ["operator.read"] }) })).text;

describe("the plugin files", { timeout: 120_000 }, () => {
  it("stores the files of a workspace in `directory`, below the state directory if it is relative", async (t) => {
    const gateway = await start(t, { directory: "shared", maxFileBytes: 1_000, ignore: ["private"] });
    gateway.write("notes.md", "1");
    gateway.write("private/secret.md", "1");
    gateway.write("large.bin", "x".repeat(1_001));
    const { skipped, workspace } = await gateway.stored(2);
    assert.equal(workspace, join(gateway.stateDir, "workspace"));
    assert.deepEqual(
      skipped.map(({ path }) => path),
      ["large.bin"],
    );
    assert.equal(readdirSync(join(gateway.stateDir, "shared/main")).length, 2);
    const { items } = await gateway.client.call(storage.usage, {});
    assert.equal(
      items.find(({ id }) => id === "files")?.rows,
      4,
      "two files, their workspace, and what this gateway knows",
    );
  });

  it("stores them in the bucket `s3`, below `prefix`", { skip: withoutS3() }, async (t) => {
    const { bucket } = await startS3(t);
    const { url, region, accessKeyId, secretAccessKey } = bucket;
    const gateway = await start(t, { s3: { url, region, accessKeyId, secretAccessKey, prefix: "ours/" } });
    await gateway.stored(1);
    const wrong = await start(t, { s3: { ...bucket, region: "elsewhere" } });
    await wrong.client.call(agents.filesSet, { agentId: "main", name: "AGENTS.md", content: "be kind" });
    const error = async () => (await wrong.client.call(files.status, {})).workspaces[0]?.error ?? "";
    await until(async () => (await error()) !== "", "the refusal");
    assert.match(await error(), /status 400, AuthorizationHeaderMalformed/);
    const shown = await shownBy(wrong);
    assert.match(shown, /Not up to date: .*AuthorizationHeaderMalformed/);
    assert.doesNotMatch(JSON.stringify([shown, await wrong.client.call(files.status, {})]), /testing/);
  });

  it("uses the bucket, and says so, with two stores", async (t) => {
    const s3 = { url: "http://127.0.0.1:1/b", accessKeyId: "a", secretAccessKey: "b" };
    const gateway = await start(t, { directory: "shared", s3 });
    assert.equal((await gateway.client.call(files.status, {})).store, s3.url);
    assert.match(
      JSON.stringify(twoStores({ config: { files: { directory: "shared", s3 } } } as never)),
      /files.s3 is set/,
    );
    assert.deepEqual(twoStores({ config: { files: { s3 } } } as never), []);
  });

  it("does not share a workspace with a store in it, or the other way round", async (t) => {
    for (const store of ["workspace/shared", "."]) {
      const gateway = await start(t, { directory: store });
      await gateway.client.call(agents.filesSet, { agentId: "main", name: "AGENTS.md", content: "be kind" });
      const error = async () => (await gateway.client.call(files.status, {})).workspaces[0]?.error ?? "";
      await until(async () => (await error()) !== "", "the refusal");
      assert.match(await error(), /contain each other; next: set it to another directory/);
    }
  });

  it("removes the objects of replaced files after an hour", async (t) => {
    let later = 0;
    const clock = { ...systemClock, now: () => Date.now() + later };
    const gateway = await start(t, { directory: "shared" }, { gateway: { clock } });
    await gateway.stored(1);
    const set = () => gateway.client.call(agents.filesSet, { agentId: "main", name: "AGENTS.md", content: "be brief" });
    await set();
    const objects = () => readdirSync(join(gateway.stateDir, "shared/main"));
    await until(() => objects().length === 2, "the new version");
    // The object is stored before the table names it: the next end of a look at the workspace comes after both.
    const syncedAt = async () => (await gateway.client.call(files.status, {})).workspaces[0]?.syncedAt;
    const before = await syncedAt();
    await set();
    await until(async () => (await syncedAt()) !== before, "the table to name it");
    const deleted = async () => {
      const { items } = await gateway.client.call(storage.clean, {});
      return items.find(({ id }) => id === "files")?.deleted ?? 0;
    };
    assert.equal(await deleted(), 0, "another gateway may read them for an hour");
    later = 3_600_001;
    assert.equal(await deleted(), 1);
    const [left = "", ...others] = objects();
    assert.deepEqual(others, []);
    assert.equal(readFileSync(join(gateway.stateDir, "shared/main", left), "utf8"), "be brief");
  });

  it("says how files are shared when they are not", async (t) => {
    const gateway = await start(t, {});
    assert.match(await shownBy(gateway), /No files are shared.*\nNext: set files.s3 or files.directory/);
  });
});
