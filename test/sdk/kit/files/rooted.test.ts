import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { directoryWithin, MAX_FILE_BYTES, readWithin, removeWithin, statWithin, writeWithin } from "@svc/kit/files";
import { modeOf, temporaryDirectory } from "../../../plugins/agents/temporary.ts";

/** A workspace with a file beside it that must not be reached. */
async function setUp(t: TestContext) {
  const directory = await temporaryDirectory(t);
  const root = join(directory, "workspace");
  const secret = join(directory, "secret.md");
  await mkdir(root);
  await writeFile(secret, "secret");
  return { directory, root, secret };
}

type Place = Awaited<ReturnType<typeof setUp>>;

const hostile: [what: string, prepare: (place: Place) => unknown, name: (place: Place) => string][] = [
  ["a name that leads upwards", () => undefined, () => "../secret.md"],
  ["one that leads down and up again", ({ root }) => mkdir(join(root, "sub")), () => "sub/../../secret.md"],
  ["an absolute path", () => undefined, ({ secret }) => secret],
  ["a name with NUL", () => undefined, () => "AGENTS.md\0.txt"],
  ["a name with a backslash", () => undefined, () => "..\\secret.md"],
  ["an empty name", () => undefined, () => ""],
  ["the directory itself", () => undefined, () => "."],
  ["an empty step", () => undefined, () => "a//b"],
  ["a symbolic link", ({ root, secret }) => symlink(secret, join(root, "AGENTS.md")), () => "AGENTS.md"],
  ["a dangling link", ({ root }) => symlink("/nowhere/at/all", join(root, "AGENTS.md")), () => "AGENTS.md"],
  ["a hard link", ({ root, secret }) => link(secret, join(root, "AGENTS.md")), () => "AGENTS.md"],
  ["a directory", ({ root }) => mkdir(join(root, "AGENTS.md")), () => "AGENTS.md"],
  ["a FIFO", ({ root }) => execFileSync("mkfifo", [join(root, "AGENTS.md")]), () => "AGENTS.md"],
];

describe("a file below a directory", () => {
  for (const [what, prepare, nameOf] of hostile) {
    it(`is neither looked at, read nor written through ${what}`, { timeout: 120_000 }, async (t) => {
      const place = await setUp(t);
      await prepare(place);
      const before = await readdir(place.root);
      const refusal = { name: "GatewayError", code: "INVALID_REQUEST" };
      await assert.rejects(statWithin(place.root, nameOf(place)), refusal);
      await assert.rejects(readWithin(place.root, nameOf(place)), refusal);
      await assert.rejects(writeWithin(place.root, nameOf(place), "mine"), refusal);
      await assert.rejects(removeWithin(place.root, nameOf(place)), refusal);
      assert.equal(await readFile(place.secret, "utf8"), "secret");
      assert.deepEqual(await readdir(place.root), before);
    });
  }

  it("is not read through a linked directory", async (t) => {
    const { directory, root } = await setUp(t);
    await mkdir(join(directory, "other"));
    await writeFile(join(directory, "other", "a.png"), "x");
    await symlink(join(directory, "other"), join(root, "images"));
    const refusal = { code: "INVALID_REQUEST", message: /leads out of the workspace/ };
    for (const name of ["images/a.png", "images/deeper/a.png"]) {
      await assert.rejects(readWithin(root, name), refusal);
      await assert.rejects(writeWithin(root, name, "mine"), refusal);
      await assert.rejects(removeWithin(root, name), refusal);
    }
    await assert.rejects(directoryWithin(root, "images"), refusal);
    assert.deepEqual(await readdir(join(directory, "other")), ["a.png"]);
    assert.equal(await readFile(join(directory, "other", "a.png"), "utf8"), "x");
  });

  it("never follows a name that is swapped for a link again and again", { timeout: 120_000 }, async (t) => {
    const { directory, root, secret } = await setUp(t);
    const [plain, linked, file] = [join(directory, "plain"), join(directory, "linked"), join(root, "AGENTS.md")];
    const over = new AbortController();
    const swapping = (async () => {
      for (let round = 0; round < 300; round += 1) {
        await writeFile(plain, "mine");
        await rename(plain, file);
        await symlink(secret, linked);
        await rename(linked, file);
      }
      over.abort();
    })();
    const seen = new Set<string>();
    while (!over.signal.aborted) {
      const read = await readWithin(root, "AGENTS.md").catch(() => undefined);
      if (read) seen.add(read.bytes.toString());
    }
    await swapping;
    assert.ok(!seen.has("secret"));
  });

  it("is missing where it or its directory is", async (t) => {
    const { directory, root } = await setUp(t);
    assert.equal(await readWithin(root, "AGENTS.md"), undefined);
    assert.equal(await readWithin(root, "images/a.png"), undefined);
    assert.equal(await readWithin(join(directory, "nowhere"), "AGENTS.md"), undefined);
    assert.equal(await statWithin(join(directory, "nowhere"), "AGENTS.md"), undefined);
  });

  it("is written whole, private, and without a draft left behind", async (t) => {
    const { root } = await setUp(t);
    await writeWithin(root, "AGENTS.md", "one");
    await writeWithin(root, "AGENTS.md", "zwei ü");
    assert.equal((await readWithin(root, "AGENTS.md"))?.bytes.toString(), "zwei ü");
    assert.equal(modeOf(await stat(join(root, "AGENTS.md"))), "600");
    assert.deepEqual(await readdir(root), ["AGENTS.md"]);
  });

  it("may lie below a root that an operator has put a link to", async (t) => {
    const { directory, root } = await setUp(t);
    await symlink(root, join(directory, "link"));
    await writeWithin(join(directory, "link"), "AGENTS.md", "one");
    assert.equal((await readWithin(join(directory, "link"), "AGENTS.md"))?.bytes.toString(), "one");
  });

  it("has at most 1 MiB, both ways, and says how much it has", async (t) => {
    const { root } = await setUp(t);
    await writeWithin(root, "AGENTS.md", "x".repeat(MAX_FILE_BYTES));
    assert.equal((await readWithin(root, "AGENTS.md"))?.bytes.length, MAX_FILE_BYTES);
    const tooLong = "x".repeat(MAX_FILE_BYTES + 1);
    const refusal = { code: "INVALID_REQUEST", message: /1048577 bytes.*1048576/ };
    await assert.rejects(writeWithin(root, "USER.md", tooLong), refusal);
    await writeFile(join(root, "USER.md"), tooLong);
    await assert.rejects(readWithin(root, "USER.md"), refusal);
    const head = await readWithin(root, "USER.md", 3);
    assert.deepEqual([head?.bytes.toString(), head?.isCut], ["xxx", true]);
  });

  it(
    "is never reached through a directory that is swapped for a link again and again",
    { timeout: 20_000, skip: process.platform !== "linux" && "only Linux can hold a directory" },
    async (t) => {
      const { directory, root } = await setUp(t);
      const [other, sub, aside] = [join(directory, "other"), join(root, "sub"), join(directory, "aside")];
      await mkdir(other);
      await writeFile(join(other, "a"), "secret");
      await mkdir(sub);
      await writeFile(join(sub, "a"), "mine");
      const over = new AbortController();
      const isPut = (from: string) =>
        rename(from, sub).then(
          () => true,
          () => false,
        );
      /** In the place of whatever a write has made there meanwhile. */
      const put = async (from: string): Promise<void> => {
        while (!(await isPut(from))) await rm(sub, { recursive: true, force: true });
      };
      const swapping = (async () => {
        for (let round = 0; round < 200; round += 1) {
          await rename(sub, aside);
          await symlink(other, join(directory, "link"));
          await put(join(directory, "link"));
          await unlink(sub);
          await put(aside);
        }
      })().finally(() => over.abort());
      const seen = new Set<string>();
      while (!over.signal.aborted) {
        await writeWithin(root, "sub/a", "mine").catch(() => undefined);
        const read = await readWithin(root, "sub/a").catch(() => undefined);
        if (read) seen.add(read.bytes.toString());
      }
      await swapping;
      seen.add(String((await readWithin(root, "sub/a"))?.bytes));
      assert.deepEqual([...seen], ["mine"]);
      assert.deepEqual(await readdir(other), ["a"]);
      assert.equal(await readFile(join(other, "a"), "utf8"), "secret");
    },
  );

  it("is written into directories that are made for it, private", async (t) => {
    const { root } = await setUp(t);
    await writeWithin(root, "a/b/c.txt", "one");
    await writeWithin(root, "a/b/c.txt", "two");
    assert.equal((await readWithin(root, "a/b/c.txt"))?.bytes.toString(), "two");
    assert.deepEqual(
      [modeOf(await stat(join(root, "a", "b"))), await readdir(join(root, "a", "b"))],
      ["700", ["c.txt"]],
    );
    await assert.rejects(writeWithin(root, "a/b/c.txt/d", "x"), { code: "INVALID_REQUEST", message: /through a file/ });
  });

  it("keeps its permissions where that is asked for, but none that lend an identity", async (t) => {
    const { root } = await setUp(t);
    await writeWithin(root, "run.sh", "one");
    await chmod(join(root, "run.sh"), 0o4755);
    await writeWithin(root, "run.sh", "two", { mode: "kept" });
    assert.equal((await stat(join(root, "run.sh"))).mode & 0o7777, 0o755);
    await writeWithin(root, "other.sh", "two", { mode: 0o2750 });
    assert.equal((await stat(join(root, "other.sh"))).mode & 0o7777, 0o750);
    await writeWithin(root, "run.sh", "three");
    assert.equal(modeOf(await stat(join(root, "run.sh"))), "600");
  });

  it("is replaced and removed only as it was read, where that is asked for", async (t) => {
    const { root } = await setUp(t);
    const conflict = { code: "CONFLICT", message: /is not in the expected state/ };
    const first = await writeWithin(root, "a.txt", "one", { expected: null });
    await assert.rejects(writeWithin(root, "a.txt", "two", { expected: null }), conflict);
    const second = await writeWithin(root, "a.txt", "three", { expected: first });
    await assert.rejects(writeWithin(root, "a.txt", "four", { expected: first }), conflict);
    await assert.rejects(removeWithin(root, "a.txt", first), conflict);
    assert.equal(await removeWithin(root, "a.txt", second), true);
    await assert.rejects(writeWithin(root, "a.txt", "five", { expected: second }), conflict);
    assert.deepEqual(await readdir(root), []);
  });

  it("is removed once, and what is not there is not", async (t) => {
    const { root } = await setUp(t);
    await writeWithin(root, "a/b.txt", "one");
    assert.deepEqual(
      [await removeWithin(root, "a/b.txt"), await removeWithin(root, "a/b.txt"), await removeWithin(root, "x/y.txt")],
      [true, false, false],
    );
  });
});

describe("a directory below a directory", () => {
  it("is the root itself, one below it, or nothing", async (t) => {
    const { root } = await setUp(t);
    await mkdir(join(root, "a", "b"), { recursive: true });
    await writeFile(join(root, "file"), "");
    const of = (name: string) => directoryWithin(root, name);
    assert.deepEqual([await of(""), await of("a/b"), await of("a/c")], [root, join(root, "a", "b"), undefined]);
    for (const name of ["..", "a/..", "/", "file", "file/x", "."]) {
      await assert.rejects(of(name), { code: "INVALID_REQUEST" }, name);
    }
  });
});
