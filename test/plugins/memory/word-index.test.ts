import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { link, mkdir, rename, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isMemoryPath, MAX_FILES } from "../../../plugins/memory/files.ts";
import { createIndexes, MAX_KEPT } from "../../../plugins/memory/indexes.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { never, scene } from "./scene.ts";

describe("paths of memory", () => {
  const cases: [path: string, isMemory: boolean][] = [
    ["MEMORY.md", true],
    ["memory.md", true],
    ["memory/2026-01-02.md", true],
    ["memory/people/ada.MD", true],
    ["memory/a b ä.md", true],
    ["Memory.md", false],
    ["AGENTS.md", false],
    ["memory", false],
    ["memory/", false],
    ["memory/a.txt", false],
    ["memory/.git/x.md", false],
    ["memory/.md", false],
    ["memory/../AGENTS.md", false],
    ["memory/./a.md", false],
    ["memory//a.md", false],
    ["/memory/a.md", false],
    ["memory\\a.md", false],
    ["memory/a\\b.md", false],
    ["memory/a\nb.md", false],
    ["memory/a\u202eb.md", false],
    ["memory/a\0.md", false],
    [`memory/${"d/".repeat(8)}a.md`, false],
  ];
  for (const [path, isMemory] of cases)
    it(`${JSON.stringify(path)} ${isMemory ? "is" : "is not"} one`, () => assert.equal(isMemoryPath(path), isMemory));
});

describe("a search", () => {
  const files = {
    "MEMORY.md": "# People\nAda likes tea and chess.\n\n# Servers\nThe backup runs on atlas at 3 in the morning.",
    "memory/2026-01-02.md": "# Talk with Ada\nWe spoke about the weather, and tea.",
    "memory/projects/garden.md": "# Garden\nTomatoes need water.\n\n# 天気\n明日の天気予報は雨。",
    "AGENTS.md": "atlas is not memory",
    "memory/notes.txt": "atlas is not memory either",
  };

  it("finds places with their lines, best first", async (t) => {
    const { ask } = await scene(t, files);
    const { hits, files: count, leftOut } = await ask("when does the backup run on atlas");
    const [best] = hits;
    assert.deepEqual([best?.path, best?.startLine, best?.endLine], ["MEMORY.md", 4, 5]);
    assert.equal(best?.snippet, "# Servers\nThe backup runs on atlas at 3 in the morning.");
    assert.deepEqual([count, leftOut], [3, []]);
    const scores = hits.map(({ score }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((one, other) => other - one),
    );
    assert.ok(scores.every((score) => score > 0 && score < 1));
  });

  const found: [what: string, query: string, first: string][] = [
    ["accents and case aside", "TÉA CHESS", "MEMORY.md:1-2"],
    ["words that only begin so", "tomat", "memory/projects/garden.md:1-2"],
    ["words with a slip", "tomatos", "memory/projects/garden.md:1-2"],
    ["what stands in a heading before what is mentioned", "ada", "memory/2026-01-02.md:1-2"],
    ["a word of the file's name", "garden water", "memory/projects/garden.md:1-2"],
    ["scripts without spaces", "予報", "memory/projects/garden.md:4-5"],
  ];
  for (const [what, query, first] of found) {
    it(`finds ${what}`, async (t) => {
      const { places } = await scene(t, files);
      assert.equal((await places(query))[0], first);
    });
  }

  it("gives no more than was asked for, and nothing weaker", async (t) => {
    const { ask } = await scene(t, files);
    const { hits } = await ask("ada tea");
    assert.equal(hits.length, 2);
    assert.equal((await ask("ada tea", { maxResults: 1 })).hits.length, 1);
    const [first, second] = hits.map(({ score }) => score);
    assert.ok(first !== undefined && second !== undefined && first > second);
    assert.equal((await ask("ada tea", { minScore: first })).hits.length, 1);
  });

  it("finds nothing for no words, other words, and in no files", async (t) => {
    const { places } = await scene(t, files);
    assert.deepEqual(await places("?!"), []);
    assert.deepEqual(await places("zebra"), []);
    const empty = await scene(t);
    assert.deepEqual(await empty.ask("ada"), { hits: [], files: 0, leftOut: [] });
  });

  it("sees what changed, came and went since the last one", async (t) => {
    const { write, remove, places } = await scene(t, { "MEMORY.md": "the cat", "memory/a.md": "the dog" });
    assert.deepEqual(await places("cat"), ["MEMORY.md:1-1"]);
    await write("MEMORY.md", "the bat");
    assert.deepEqual([await places("cat"), await places("bat")], [[], ["MEMORY.md:1-1"]]);
    await write("memory/b.md", "a cat again");
    assert.deepEqual(await places("cat"), ["memory/b.md:1-1"]);
    await remove("memory/a.md");
    assert.deepEqual(await places("dog"), []);
  });

  it("sees a file that another one has been moved over, with the same size and time", async (t) => {
    const { workspace, write, places } = await scene(t, { "memory/a.md": "the cat" }, { now: () => Infinity });
    const past = new Date(2020, 1, 1);
    await utimes(join(workspace, "memory/a.md"), past, past);
    assert.deepEqual(await places("cat"), ["memory/a.md:1-1"]);
    await write("draft", "the dog");
    await utimes(join(workspace, "draft"), past, past);
    await rename(join(workspace, "draft"), join(workspace, "memory/a.md"));
    assert.deepEqual([await places("cat"), await places("dog")], [[], ["memory/a.md:1-1"]]);
  });

  it("leaves links, hard links, special files and files that are no text out, and says why", async (t) => {
    const { workspace, write, ask } = await scene(t, { "memory/plain.md": "the secret", "AGENTS.md": "the secret" });
    const outside = await temporaryDirectory(t);
    await writeFile(join(outside, "x.md"), "the secret");
    await symlink(join(outside, "x.md"), join(workspace, "memory/soft.md"));
    await symlink(outside, join(workspace, "memory/folder"));
    await link(join(outside, "x.md"), join(workspace, "memory/hard.md"));
    await symlink("../AGENTS.md", join(workspace, "memory/inside.md"));
    execFileSync("mkfifo", [join(workspace, "memory/pipe.md")]);
    await mkdir(join(workspace, "memory/directory.md"));
    await write("memory/binary.md", "the secret\0");
    const { hits, leftOut, files } = await ask("secret");
    assert.deepEqual(
      hits.map(({ path }) => path),
      ["memory/plain.md"],
    );
    assert.equal(files, 1);
    assert.deepEqual(
      leftOut.map(({ path }) => path),
      ["memory/binary.md", "memory/hard.md", "memory/inside.md", "memory/pipe.md", "memory/soft.md"],
    );
    assert.match(String(leftOut.find(({ path }) => path === "memory/hard.md")?.reason), /hard links/);
    assert.equal((await ask("secret")).leftOut.length, 5);
  });

  it("does not follow memory/ itself when it is a link", async (t) => {
    const { workspace, ask } = await scene(t);
    const outside = await temporaryDirectory(t);
    await writeFile(join(outside, "x.md"), "the secret");
    await symlink(outside, join(workspace, "memory"));
    assert.deepEqual(await ask("secret"), { hits: [], files: 0, leftOut: [] });
  });

  it("reads a file with a strange name, and none whose name could pass for another", async (t) => {
    const { places } = await scene(t, {
      "memory/a 'b' \"c\" ;$(d).md": "the fox",
      "memory/x\ny.md": "the fox",
      "memory/__proto__.md": "the fox",
    });
    assert.deepEqual((await places("fox")).toSorted(), ["memory/__proto__.md:1-1", "memory/a 'b' \"c\" ;$(d).md:1-1"]);
  });

  it("is bounded in bytes, and says what is left out", async (t) => {
    const { ask, write } = await scene(
      t,
      { "memory/a.md": "fox ".repeat(10), "memory/b.md": "fox ".repeat(10), "memory/c.md": "fox" },
      { maxTotalBytes: 50 },
    );
    const names = async () => (await ask("fox")).hits.map(({ path }) => path).toSorted();
    assert.deepEqual(await names(), ["memory/a.md", "memory/c.md"]);
    assert.deepEqual(
      (await ask("fox")).leftOut.map(({ path }) => path),
      ["memory/b.md"],
    );
    await write("memory/a.md", "fox");
    assert.deepEqual(await names(), ["memory/a.md", "memory/b.md", "memory/c.md"]);
  });

  it("is bounded in files", async (t) => {
    const { workspace, ask } = await scene(t);
    await mkdir(join(workspace, "memory"));
    const names = Array.from({ length: MAX_FILES + 1 }, (_, index) => `${index}.md`);
    await Promise.all(names.map((name) => writeFile(join(workspace, "memory", name), "")));
    const { files, leftOut } = await ask("fox");
    assert.ok(files >= MAX_FILES - 2 && files <= MAX_FILES);
    assert.match(String(leftOut[0]?.reason), /only the first 2000 files/);
  });

  it("lets everybody else have turns between the pieces of a file", async (t) => {
    const text = Array.from({ length: 40 }, (_, index) => `# Part ${index}\nword`).join("\n");
    let turn = 0;
    let ms = 0;
    const seen = new Set<number>();
    const elapsed = () => {
      seen.add(turn);
      return (ms += 10);
    };
    const { ask } = await scene(t, { "memory/a.md": text }, { elapsed });
    let isOver = false;
    const count = () => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await ask("word");
    isOver = true;
    assert.ok(seen.size >= 40, `${seen.size} turns`);
  });

  it("ends with its run, and the next one goes on", async (t) => {
    const { ask, places } = await scene(t, files);
    const stopping = new AbortController();
    const asked = ask("atlas", {}, stopping.signal);
    stopping.abort();
    await assert.rejects(asked, { name: "AbortError" });
    await assert.rejects(ask("atlas", {}, AbortSignal.abort()), { name: "AbortError" });
    assert.deepEqual(await places("atlas"), ["MEMORY.md:4-5"]);
  });

  it("answers several at a time, each from whole files", async (t) => {
    const { places } = await scene(t, files);
    const all = await Promise.all(["atlas", "tomatoes", "atlas", "weather"].map((word) => places(word)));
    assert.deepEqual(all, [
      ["MEMORY.md:4-5"],
      ["memory/projects/garden.md:1-2"],
      ["MEMORY.md:4-5"],
      ["memory/2026-01-02.md:1-2"],
    ]);
  });
});

describe("the indexes of agents", () => {
  it("are kept, one each, until many others were asked for or the workspace is another one", () => {
    const made: string[] = [];
    const indexes = createIndexes((workspace) => {
      made.push(workspace);
      return { search: async () => ({ hits: [], files: 0, leftOut: [] }) };
    });
    assert.equal(indexes.of("a", "/a"), indexes.of("a", "/a"));
    assert.notEqual(indexes.of("a", "/a"), indexes.of("b", "/a"));
    assert.notEqual(indexes.of("a", "/a"), indexes.of("a", "/other"));
    assert.deepEqual(made, ["/a", "/a", "/other", "/a"].toSpliced(3));
    for (let index = 0; index < MAX_KEPT; index += 1) indexes.of(`x${index}`, "/x");
    const before = made.length;
    indexes.of("a", "/other");
    assert.equal(made.length, before + 1);
  });

  it("do not see each other's files", async (t) => {
    const [one, other] = [await scene(t, { "MEMORY.md": "the fox" }), await scene(t, { "MEMORY.md": "the cat" })];
    const indexes = createIndexes();
    const query = { text: "fox cat", maxResults: 6, minScore: 0 };
    const first = await indexes.of("a", one.workspace).search(query, never);
    const second = await indexes.of("b", other.workspace).search(query, never);
    assert.deepEqual([first.hits[0]?.snippet, first.hits.length], ["the fox", 1]);
    assert.deepEqual([second.hits[0]?.snippet, second.hits.length], ["the cat", 1]);
  });
});
