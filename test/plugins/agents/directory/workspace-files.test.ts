import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  link,
  mkdir,
  readdir,
  readFile as readPlain,
  stat,
  symlink,
  unlink,
  writeFile as writePlain,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { contentHash } from "@svc/kit/files";
import { listFiles, readFile, writeFile } from "../../../../plugins/agents/directory/workspace-files.ts";
import { makeDirectory, prepareWorkspace } from "../../../../plugins/agents/directory/workspace-seed.ts";
import { modeOf, temporaryDirectory } from "../temporary.ts";

const seed = { skipBootstrap: false };
const SEEDED = ["AGENTS.md", "BOOTSTRAP.md", "HEARTBEAT.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"];

const workspaceIn = async (t: TestContext) => join(await temporaryDirectory(t), "workspace");
const names = async (workspace: string) => (await listFiles(workspace)).map(({ name }) => name);

describe("a new workspace", () => {
  it("is private and has its first files", async (t) => {
    const workspace = await workspaceIn(t);
    await prepareWorkspace(workspace, seed);
    assert.equal(modeOf(await stat(workspace)), "700");
    assert.deepEqual((await readdir(workspace)).toSorted(), SEEDED);
    for (const name of SEEDED) assert.equal(modeOf(await stat(join(workspace, name))), "600");
  });

  it("gets BOOTSTRAP.md once: not again after the agent deleted it, and not in a workspace with other files", async (t) => {
    const workspace = await workspaceIn(t);
    await prepareWorkspace(workspace, seed);
    const { content } = await readFile(workspace, "BOOTSTRAP.md");
    assert.match(content ?? "", /\*\*\* Delete File: BOOTSTRAP\.md/);
    await unlink(join(workspace, "BOOTSTRAP.md"));
    await prepareWorkspace(workspace, seed);
    assert.deepEqual(
      (await readdir(workspace)).toSorted(),
      SEEDED.filter((name) => name !== "BOOTSTRAP.md"),
    );
    assert.ok(!(await names(workspace)).includes("BOOTSTRAP.md"));
  });

  it("is empty with skipBootstrap", async (t) => {
    const workspace = await workspaceIn(t);
    await prepareWorkspace(workspace, { skipBootstrap: true });
    assert.deepEqual(await readdir(workspace), []);
  });

  it("stays as it is when there is anything in it", async (t) => {
    const workspace = await workspaceIn(t);
    await mkdir(workspace, { mode: 0o755 });
    await writePlain(join(workspace, "notes.txt"), "mine");
    await prepareWorkspace(workspace, seed);
    assert.deepEqual(await readdir(workspace), ["notes.txt"]);
    assert.equal(modeOf(await stat(workspace)), "755");
  });

  it("is made once, by however many at a time, and what somebody wrote meanwhile stays", async (t) => {
    const workspace = await workspaceIn(t);
    const words = "mine";
    await Promise.all([
      prepareWorkspace(workspace, seed),
      writeFile(workspace, "SOUL.md", words, seed),
      prepareWorkspace(workspace, seed),
      writeFile(workspace, "USER.md", words, seed),
    ]);
    assert.equal((await readFile(workspace, "SOUL.md")).content, words);
    assert.equal((await readFile(workspace, "USER.md")).content, words);
  });

  it("makes what is above it, private too", async (t) => {
    const path = join(await temporaryDirectory(t), "a", "b");
    await makeDirectory(path);
    await makeDirectory(path);
    assert.equal(modeOf(await stat(join(path, ".."))), "700");
  });
});

describe("agents.files.list", () => {
  it("shows every name in order for a workspace that is not there, and makes nothing", async (t) => {
    const workspace = await workspaceIn(t);
    const files = await listFiles(workspace);
    const order = [
      "AGENTS.md",
      "SOUL.md",
      "TOOLS.md",
      "IDENTITY.md",
      "USER.md",
      "HEARTBEAT.md",
      "BOOTSTRAP.md",
      "MEMORY.md",
    ];
    assert.deepEqual(
      files,
      order.map((name) => ({ name, path: join(workspace, name), missing: true })),
    );
    await assert.rejects(stat(workspace), { code: "ENOENT" });
  });

  it("gives size and time of what is there", async (t) => {
    const workspace = await workspaceIn(t);
    await writeFile(workspace, "SOUL.md", "kind ü", seed);
    const soul = (await listFiles(workspace)).find(({ name }) => name === "SOUL.md");
    const { mtimeMs } = await stat(join(workspace, "SOUL.md"));
    const path = join(workspace, "SOUL.md");
    assert.deepEqual(soul, { name: "SOUL.md", path, missing: false, size: 7, updatedAtMs: Math.floor(mtimeMs) });
  });

  const memories: [there: string[], last: string, missing: boolean][] = [
    [[], "MEMORY.md", true],
    [["MEMORY.md"], "MEMORY.md", false],
    [["memory.md"], "memory.md", false],
    [["memory.md", "MEMORY.md"], "MEMORY.md", false],
  ];
  for (const [there, last, missing] of memories) {
    it(`has one memory file last: ${last} of ${there.join(", ") || "none"}`, async (t) => {
      const workspace = await workspaceIn(t);
      for (const name of there) await writeFile(workspace, name, "x", seed);
      const files = await listFiles(workspace);
      assert.equal(files.filter(({ name }) => /memory/i.test(name)).length, 1);
      assert.deepEqual([files.at(-1)?.name, files.at(-1)?.missing], [last, missing]);
    });
  }

  it("has BOOTSTRAP.md until it is taken away from a workspace with other files", async (t) => {
    const workspace = await workspaceIn(t);
    await writeFile(workspace, "BOOTSTRAP.md", "Introduce yourself.", seed);
    assert.ok((await names(workspace)).includes("BOOTSTRAP.md"));
    await unlink(join(workspace, "BOOTSTRAP.md"));
    assert.ok(!(await names(workspace)).includes("BOOTSTRAP.md"));
  });

  it("is not kept from its work by a file that may not be read", async (t) => {
    const workspace = await workspaceIn(t);
    await mkdir(workspace);
    await symlink("/etc/hosts", join(workspace, "AGENTS.md"));
    execFileSync("mkfifo", [join(workspace, "TOOLS.md")]);
    await writePlain(join(workspace, "SOUL.md"), "x");
    const missing = (await listFiles(workspace)).filter((file) => file.missing).map(({ name }) => name);
    assert.deepEqual(
      [missing.includes("AGENTS.md"), missing.includes("TOOLS.md"), missing.includes("SOUL.md")],
      [true, true, false],
    );
  });
});

describe("agents.files.get and set", () => {
  it("keep every character", async (t) => {
    const workspace = await workspaceIn(t);
    const content = "\ufeffä\r\n\0🌙";
    const written = await writeFile(workspace, "MEMORY.md", content, seed);
    assert.deepEqual(await readFile(workspace, "MEMORY.md"), written);
    assert.deepEqual([written.content, written.size, written.missing], [content, Buffer.byteLength(content), false]);
    assert.equal(await readPlain(written.path, "utf8"), content);
  });

  it("say that a file is missing, and make nothing", async (t) => {
    const workspace = await workspaceIn(t);
    const path = join(workspace, "SOUL.md");
    assert.deepEqual(await readFile(workspace, "SOUL.md"), { name: "SOUL.md", path, missing: true });
    await assert.rejects(stat(workspace), { code: "ENOENT" });
  });

  it("make a workspace with its first files, which a later write finds", async (t) => {
    const workspace = await workspaceIn(t);
    await writeFile(workspace, "SOUL.md", "kind", seed);
    assert.deepEqual((await readdir(workspace)).toSorted(), SEEDED);
  });

  const refused = [
    "agents.md", "Agents.md", "AGENTS.MD", "./AGENTS.md", "../AGENTS.md", "sub/AGENTS.md", "/etc/hosts", "AGENTS.md\0", "AGENTS.md ", "",
    "..", "Memory.md", "AGENTS.md/", "ＡGENTS.md", "__proto__", ".env",
  ]; // prettier-ignore
  for (const name of refused) {
    it(`refuse the name ${JSON.stringify(name)} and tell the names there are`, async (t) => {
      const workspace = await workspaceIn(t);
      const refusal = { code: "INVALID_REQUEST", message: /AGENTS\.md, SOUL\.md/ };
      await assert.rejects(readFile(workspace, name), refusal);
      await assert.rejects(writeFile(workspace, name, "x", seed), refusal);
      await assert.rejects(stat(workspace), { code: "ENOENT" });
    });
  }

  const links: [string, (target: string, path: string) => Promise<void>, RegExp][] = [
    ["symbolic link", symlink, /symbolic link/],
    ["hard link", link, /hard link/],
  ];
  for (const [what, make, why] of links) {
    it(`refuse a ${what} and leave what it leads to alone`, async (t) => {
      const workspace = await workspaceIn(t);
      const target = `${workspace}.txt`;
      await mkdir(workspace);
      await writePlain(target, "secret");
      await make(target, join(workspace, "USER.md"));
      await assert.rejects(readFile(workspace, "USER.md"), { code: "INVALID_REQUEST", message: why });
      await assert.rejects(writeFile(workspace, "USER.md", "x", seed), { code: "INVALID_REQUEST", message: why });
      assert.equal(await readPlain(target, "utf8"), "secret");
    });
  }
});

describe("a write that names the content it replaces", () => {
  it("is refused after another change, and leaves the file", async (t) => {
    const workspace = await workspaceIn(t);
    const { hash } = await writeFile(workspace, "SOUL.md", "one", seed);
    assert.equal((await readFile(workspace, "SOUL.md")).hash, hash);
    await writeFile(workspace, "SOUL.md", "two", { ...seed, baseHash: hash });
    const late = writeFile(workspace, "SOUL.md", "three", { ...seed, baseHash: hash });
    await assert.rejects(late, { code: "CONFLICT", message: /SOUL\.md was changed since it was read/ });
    assert.equal((await readFile(workspace, "SOUL.md")).content, "two");
  });

  it("creates a file that was missing, also in a workspace that gets its first files now", async (t) => {
    const workspace = await workspaceIn(t);
    const baseHash = contentHash("");
    assert.equal((await writeFile(workspace, "SOUL.md", "mine", { ...seed, baseHash })).content, "mine");
    await assert.rejects(writeFile(workspace, "SOUL.md", "x", { ...seed, baseHash }), { code: "CONFLICT" });
  });
});
