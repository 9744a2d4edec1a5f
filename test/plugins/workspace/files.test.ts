/** `read`, `write` and `edit` on real files, and attempts to leave the workspace. */
import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coversScope } from "@svc/sdk";
import type { IdentityChange } from "@svc/sdk/agents";
import { principal } from "../agents/script.ts";
import { openScene } from "./scene.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("identity files", () => {
  const patch = (lines: string) => ({ patch: `*** Begin Patch\n${lines}\n*** End Patch` });
  const calls: [tool: string, args: Record<string, unknown>, paths: string[]][] = [
    ["write", { path: "./SOUL.md", content: "x" }, ["SOUL.md"]],
    ["edit", { path: "USER.md", oldText: "a", newText: "b" }, ["USER.md"]],
    ["apply_patch", patch("*** Add File: SOUL.md\n+x\n*** Delete File: USER.md"), ["SOUL.md", "USER.md"]],
    ["apply_patch", patch("*** Update File: USER.md\n*** Move to: memory.md\n-a\n+b"), ["memory.md", "USER.md"]],
  ];
  for (const [tool, args, paths] of calls) {
    it(`are written by ${tool} (${paths.join(", ")}) through their owner, with the facts of the call`, async (t) => {
      const changes: IdentityChange[] = [];
      const texts: (string | undefined)[] = [];
      const { root, use } = await openScene(t, {
        identityFiles: {
          async change(change, write) {
            const text = () => readFile(join(root, "USER.md"), "utf8").catch(() => undefined);
            changes.push(change);
            texts.push(await text());
            return write();
          },
        },
      });
      await writeFile(join(root, "USER.md"), "a\n");
      await use(tool, args);
      assert.deepEqual(changes, [
        { agentId: "main", paths, how: tool, principal, sessionKey: "agent:main:main", runId: "r1" },
      ]);
      assert.deepEqual(texts, ["a\n"]);
    });
  }
});

describe("read", () => {
  it("returns text unchanged, with a note where it is cut", async (t) => {
    const { root, use, say } = await openScene(t);
    await writeFile(join(root, "a.txt"), "one\ntwo\nthree\n");
    assert.equal(await say("read", { path: "a.txt" }), "one\ntwo\nthree\n");
    const part = await use("read", { path: join(root, "a.txt"), offset: 2, limit: 1 });
    assert.deepEqual(part.content, [{ type: "text", text: "two\n[lines 2 to 2 of 3; continue with offset 3]" }]);
    assert.deepEqual(part.details, { path: "a.txt", size: 14, from: 2, to: 2, lines: 3, truncated: true });
  });

  it("returns pictures, detected by content and not by name", async (t) => {
    const { root, use } = await openScene(t);
    await writeFile(join(root, "a.txt"), PNG);
    assert.deepEqual((await use("read", { path: "a.txt" })).content, [
      { type: "text", text: "a.txt: image/png, 16 bytes" },
      { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
    ]);
  });

  it("reads the beginning of a file of any size", async (t) => {
    const { root, say } = await openScene(t);
    await writeFile(join(root, "big.log"), "0123456789abcde\n".repeat(600_000));
    assert.match(
      await say("read", { path: "big.log", limit: 1 }),
      /^0123456789abcde\n\[lines 1 to 1 of more than \d+; continue/,
    );
  });

  it("refuses what is no text or picture of a bearable size, by its name", async (t) => {
    const { root, use } = await openScene(t);
    await writeFile(join(root, "a.bin"), Buffer.from([1, 0, 255]));
    await writeFile(join(root, "big.png"), Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024 + 1)]));
    await mkdir(join(root, "sub"));
    const refused: [path: string, message: RegExp, code?: string][] = [
      ["a.bin", /a\.bin is a binary file of 3 bytes/],
      ["none.txt", /no file none\.txt/, "NOT_FOUND"],
      ["sub", /sub is a directory/],
      [".", /is a directory/],
      ["x".repeat(300), /the name is too long/],
      ["big.png", /5242897 bytes; pictures may have at most 5242880/],
    ];
    for (const [path, message, code = "INVALID_REQUEST"] of refused)
      await assert.rejects(use("read", { path }), { code, message }, path);
  });

  it("creates no workspace, but writing does", async (t) => {
    const { root, use, say } = await openScene(t);
    await rm(root, { recursive: true });
    await assert.rejects(use("read", { path: "a.txt" }), { code: "NOT_FOUND" });
    await assert.rejects(stat(root), { code: "ENOENT" });
    assert.equal(await say("write", { path: "a.txt", content: "x" }), "created a.txt: 1 bytes");
    assert.equal((await stat(root)).mode & 0o777, 0o700);
  });
});

describe("write and edit", () => {
  it("keep the permissions of a file, and create private ones", async (t) => {
    const { root, say } = await openScene(t);
    await writeFile(join(root, "run.sh"), "old\n");
    await chmod(join(root, "run.sh"), 0o755);
    assert.equal(await say("write", { path: "run.sh", content: "one two\n" }), "replaced run.sh: 8 bytes");
    assert.equal(
      await say("edit", { path: "run.sh", oldText: "two", newText: "2" }),
      "replaced 1 passage of run.sh, line 1",
    );
    assert.equal(await readFile(join(root, "run.sh"), "utf8"), "one 2\n");
    assert.equal(await say("write", { path: "a/b/new.txt", content: "" }), "created a/b/new.txt: 0 bytes");
    const modes = ["run.sh", "a/b/new.txt"].map(async (name) => (await stat(join(root, name))).mode & 0o777);
    assert.deepEqual(await Promise.all(modes), [0o755, 0o600]);
    assert.deepEqual((await readdir(root)).sort(), ["a", "run.sh"]);
  });

  it("edit a passage that occurs exactly once, or all occurrences", async (t) => {
    const { root, use, details } = await openScene(t);
    await writeFile(join(root, "a"), "\ufeffx\r\ny y\r\n");
    await assert.rejects(use("edit", { path: "a", oldText: "y", newText: "z" }), { message: /is in a 2 times/ });
    await assert.rejects(use("edit", { path: "b", oldText: "y", newText: "z" }), { code: "NOT_FOUND" });
    const done = await details("edit", { path: "a", oldText: "y", newText: "z", replaceAll: true });
    assert.deepEqual(done, { path: "a", replacements: 2, firstLine: 2 });
    assert.equal(await readFile(join(root, "a"), "utf8"), "\ufeffx\r\nz z\r\n");
  });
});

describe("the workspace", () => {
  const hostile: [what: string, path: (at: { directory: string; other: string; stateDir: string }) => string][] = [
    ["..", () => "../secret"],
    ["an absolute path", ({ directory }) => join(directory, "state", "secret")],
    ["the workspace of another agent", ({ other }) => join(other, "MEMORY.md")],
    ["~", () => "~/secret"],
    ["a link to a directory", () => "out/secret"],
  ];
  for (const [what, pathOf] of hostile) {
    it(`is not left by ${what}`, async (t) => {
      const scene = await openScene(t);
      const { root, stateDir, other, use } = scene;
      await writeFile(join(stateDir, "secret"), "secret");
      await writeFile(join(other, "MEMORY.md"), "secret");
      await symlink(stateDir, join(root, "out"));
      const path = pathOf(scene);
      const refusal = { code: "INVALID_REQUEST" };
      await assert.rejects(use("read", { path }), refusal);
      await assert.rejects(use("write", { path, content: "mine" }), refusal);
      await assert.rejects(use("edit", { path, oldText: "secret", newText: "mine" }), refusal);
      const patch = (verb: string) => `*** Begin Patch\n*** ${verb} File: ${path}\n*** End Patch`;
      await assert.rejects(use("apply_patch", { patch: patch("Delete") }), refusal);
      await assert.rejects(use("apply_patch", { patch: patch("Add") }), refusal);
      assert.equal(await readFile(join(stateDir, "secret"), "utf8"), "secret");
      assert.equal(await readFile(join(other, "MEMORY.md"), "utf8"), "secret");
    });
  }

  it("excludes files in it that belong to others", async (t) => {
    // An operator may have made the home directory the workspace: the state directory lies in it then.
    const { directory, use, other } = await openScene(t, { workspace: "." });
    await writeFile(join(directory, "state", "secret"), "secret");
    await mkdir(join(directory, "mine"));
    await writeFile(join(directory, "mine", "a"), "mine");
    await assert.rejects(use("read", { path: "state/secret" }), { message: /belongs to the gateway/ });
    await assert.rejects(use("write", { path: "state/exec-approvals.json", content: "{}" }), { message: /belongs to/ });
    assert.equal((await use("read", { path: "mine/a" })).isError, undefined);
    assert.ok(other);
  });

  it("is an agent's own, and gone with it", async (t) => {
    const { use, other, say } = await openScene(t);
    await say("write", { path: "a", content: "of other" }, { agentId: "other" });
    assert.equal(await readFile(join(other, "a"), "utf8"), "of other");
    await assert.rejects(use("read", { path: "a" }), { code: "NOT_FOUND" });
    await assert.rejects(use("read", { path: "a" }, { agentId: "gone" }), {
      message: /"gone" is no longer configured/,
    });
  });
});

it("all tools need a run; only read is for readers", async (t) => {
  const { tools } = await openScene(t);
  const forReaders = Object.entries(tools).filter(([, { scope }]) => coversScope(["operator.read"], scope));
  assert.deepEqual(
    forReaders.map(([name]) => name),
    ["read"],
  );
  assert.deepEqual(
    Object.values(tools).map(({ runOnly }) => runOnly),
    Array(6).fill(true),
  );
});
