/** What the methods about agents keep as versions. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { VersionStore } from "../../../../plugins/agents/versions/store.ts";
import { IdentityVersions } from "../../../../plugins/agents/versions/versions.ts";
import { openStorage } from "../../../../plugins/storage-sqlite/storage.ts";
import { NOW, openAdmin } from "../directory/admin-fixture.ts";
import { silentLog } from "../silent-log.ts";
import { temporaryDirectory } from "../temporary.ts";

async function setUp(t: TestContext) {
  const { storage, close } = await openStorage({ file: join(await temporaryDirectory(t), "svc.db") });
  t.after(close);
  const store = new VersionStore({ storage });
  await store.open();
  const gateway = await openAdmin(t, {
    versions: (agents) => new IdentityVersions({ store, agents, clock: { now: () => NOW }, log: silentLog }),
  });
  const outline = async (agentId: string, name: "SOUL.md" | "IDENTITY.md") =>
    (await store.list(agentId, name, 99)).toReversed().map(({ how, principal }) => [how, principal?.id]);
  return { ...gateway, outline };
}

describe("versions", () => {
  it("are made by agents.files.set, under its caller, and keep what stood there", async (t) => {
    const { filesSet, filesList, outline } = await setUp(t);
    const { workspace } = await filesList("main");
    await filesSet("main", "SOUL.md", "kind");
    await writeFile(join(workspace, "SOUL.md"), "by hand");
    await filesSet("main", "SOUL.md", "kinder");
    assert.deepEqual(await outline("main", "SOUL.md"), [
      ["agents.files.set", "token"],
      ["outside", undefined],
      ["agents.files.set", "token"],
    ]);
  });

  it("are made by agents.create and agents.update", async (t) => {
    const { at, create, update, outline } = await setUp(t);
    const { agentId, workspace } = await create({ name: "Ada", workspace: at("ada") });
    await update({ agentId, name: "Ada L." });
    assert.match(await readFile(join(workspace, "IDENTITY.md"), "utf8"), /Ada L\./);
    assert.deepEqual(await outline(agentId, "IDENTITY.md"), [
      ["agents.create", "token"],
      ["agents.update", "token"],
    ]);
  });

  it("go with the agent, and stay with its files", async (t) => {
    const { at, create, delete: remove, outline } = await setUp(t);
    for (const [name, deleteFiles, left] of [
      ["Ada", undefined, 0],
      ["Bea", false, 1],
    ] as const) {
      const { agentId } = await create({ name, workspace: at(name) });
      assert.equal((await outline(agentId, "SOUL.md")).length, 1);
      await remove({ agentId, ...(deleteFiles === undefined ? {} : { deleteFiles }) });
      assert.equal((await outline(agentId, "SOUL.md")).length, left);
    }
  });
});
