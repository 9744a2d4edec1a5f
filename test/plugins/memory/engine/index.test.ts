/** The index in a real file: search results, refreshes, and recovery of a damaged file. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { link, mkdir, open, readFile, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isMemoryPath, locate, MAX_FILES } from "../../../../plugins/memory/files/memory-files.ts";
import { temporaryDirectory } from "../../agents/temporary.ts";
import { CHUNKING, HYBRID, never, memoryOf, query, scene } from "../scene.ts";

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

  const further: [path: string, root: string | undefined][] = [
    ["/srv/notes/a.md", "/srv/notes"],
    ["/srv/notes/deep/a.md", "/srv/notes"],
    ["/srv/one.md", "/srv"],
    ["/srv/two.md", undefined],
    ["/srv/notes/a.txt", undefined],
    ["/srv/notes", undefined],
    ["/srv/notes/../two.md", undefined],
    ["/srv/notes/.git/a.md", undefined],
    ["/srv/notes2/a.md", undefined],
  ];
  for (const [path, root] of further)
    it(`${path} is read ${root ? `below ${root}` : "nowhere"}`, () =>
      assert.equal(locate(path, "/w", ["/srv/notes", "/srv/one.md"])?.root, root));
});

describe("a search", () => {
  const files = {
    "MEMORY.md": "# People\nAda likes tea and chess.\n\n# Servers\nThe backup runs on atlas at 3 in the morning.",
    "memory/2026-01-02.md": "# Talk with Ada\nWe spoke about the weather, and tea.",
    "memory/projects/garden.md": "# Garden\nTomatoes need water.\n\n# 天気\n明日の天気予報は雨。",
    "memory/letters.md": "# Γράμματα\nΟ λόγος και η Straße, naïve Überlegung.",
    "AGENTS.md": "atlas is not memory",
    "memory/notes.txt": "atlas is not memory either",
  };

  it("finds places with their lines, best first", async (t) => {
    const { ask } = await scene(t, files);
    const { hits, files: count, leftOut, mode } = await ask("when does the backup run on atlas");
    const [best] = hits;
    assert.deepEqual([best?.path, best?.startLine, best?.endLine], ["MEMORY.md", 4, 5]);
    assert.equal(best?.snippet, "# Servers\nThe backup runs on atlas at 3 in the morning.");
    assert.deepEqual([count, leftOut, mode], [4, [], "keyword"]);
    const scores = hits.map(({ score }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((one, other) => other - one),
    );
    assert.ok(scores.every((score) => score > 0 && score < 1));
  });

  it("finds words in any spelling, and nothing without a match", async (t) => {
    const { places } = await scene(t, files);
    const cases: [what: string, text: string, first: string | undefined][] = [
      ["accents and case aside", "TÉA CHESS", "MEMORY.md:1-2"],
      ["words with that prefix", "tomat", "memory/projects/garden.md:1-2"],
      ["misspelled words", "tomatos", "memory/projects/garden.md:1-2"],
      ["matches in a heading before matches in a text", "ada", "memory/2026-01-02.md:1-2"],
      ["a word of the file's name", "garden water", "memory/projects/garden.md:1-2"],
      ["scripts without spaces", "予報", "memory/projects/garden.md:4-5"],
      ["the last letter of a Greek word", "ΛΟΓΟΣ", "memory/letters.md:1-2"],
      ["accents that are not written", "uberlegung naive", "memory/letters.md:1-2"],
      ["no words", "?!", undefined],
      ["another word", "zebra", undefined],
    ];
    for (const [what, text, first] of cases) assert.equal((await places(text))[0], first, what);
  });

  it("treats operators and quotes as punctuation", async (t) => {
    const { places } = await scene(t, files);
    const atlas = ["MEMORY.md:4-5"];
    const quotes = [
      'atlas"',
      '"atlas',
      "atlas*",
      "^atlas",
      "-atlas",
      "(atlas",
      "%atlas_\\",
      "atlas\u0000",
      'atlas" OR "',
    ];
    const operators = ["text:atlas", "{text heading}:atlas", "atlas AND", "NEAR(atlas, 2)", "atlas) OR ("];
    const hostile = [...quotes, ...operators, "atlas'; DROP TABLE chunks; --"];
    for (const text of hostile) assert.deepEqual((await places(text)).slice(0, 1), atlas, text);
    for (const text of ['"', '""', "*", "NOT", "NEAR()", "^", "a:"]) await places(text);
    assert.deepEqual(await places("atlas"), atlas);
  });

  it("respects maxResults and minScore", async (t) => {
    const { ask } = await scene(t, files);
    const { hits } = await ask("ada tea");
    assert.equal(hits.length, 2);
    assert.equal((await ask("ada tea", { maxResults: 1 })).hits.length, 1);
    const [first, second] = hits.map(({ score }) => score);
    assert.ok(first !== undefined && second !== undefined && first > second);
    assert.equal((await ask("ada tea", { minScore: first })).hits.length, 1);
  });

  it("moves old notes and repetitions down if configured", async (t) => {
    const { ask } = await scene(t, {
      "memory/2020-01-01.md": "the fox and the fox",
      "memory/2020-01-02.md": "the fox and the fox",
      "memory/2020-02-03.md": "a fox in another place on a long and sunny afternoon",
    });
    const order = async (hybrid: Partial<typeof HYBRID>) =>
      (await ask("fox", { hybrid: { ...HYBRID, ...hybrid } })).hits.map(({ path }) => path.slice(12, -3)).join(" ");
    assert.match(await order({}), /01-0\d 01-0\d 02-03/);
    assert.match(await order({ mmrLambda: 0.5 }), /01-0\d 02-03 01-0\d/);
    const { hits } = await ask("fox", { hybrid: { ...HYBRID, halfLifeDays: 10_000 } });
    assert.deepEqual(
      hits.slice(0, 2).map(({ path }) => path),
      ["memory/2020-01-02.md", "memory/2020-01-01.md"],
    );
    assert.match(await order({ halfLifeDays: 20 }), /02-03 01-02 01-01/, "however old, they are found");
  });

  it("finds nothing in no files", async (t) => {
    const { ask } = await scene(t);
    assert.deepEqual(await ask("ada"), { hits: [], mode: "keyword", files: 0, leftOut: [] });
  });

  it("skips links, hard links, special files and binary files, and reports why", async (t) => {
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
    const { hits, leftOut, files: count } = await ask("secret");
    assert.deepEqual(
      hits.map(({ path }) => path),
      ["memory/plain.md"],
    );
    assert.equal(count, 1);
    const expected = ["memory/binary.md", "memory/hard.md", "memory/inside.md", "memory/pipe.md", "memory/soft.md"];
    const again = await ask("secret", { refresh: false });
    for (const { leftOut: found } of [{ leftOut }, again])
      assert.deepEqual(
        found.map(({ path }) => path),
        expected,
      );
    assert.match(String(leftOut.find(({ path }) => path === "memory/hard.md")?.reason), /hard links/);
  });

  it("does not follow memory/ itself when it is a link", async (t) => {
    const { workspace, places } = await scene(t);
    const outside = await temporaryDirectory(t);
    await writeFile(join(outside, "x.md"), "the secret");
    await symlink(outside, join(workspace, "memory"));
    assert.deepEqual(await places("secret"), []);
  });

  it("reads a file with an unusual name, but none with a misleading name", async (t) => {
    const { places } = await scene(t, {
      "memory/a 'b' \"c\" ;$(d).md": "the fox",
      "memory/x\ny.md": "the fox",
      "memory/__proto__.md": "the fox",
    });
    assert.deepEqual((await places("fox")).toSorted(), ["memory/__proto__.md:1-1", "memory/a 'b' \"c\" ;$(d).md:1-1"]);
  });

  it("reads extra paths of the operator without links below them, and reports missing ones", async (t) => {
    const notes = await temporaryDirectory(t);
    await mkdir(join(notes, "deep"));
    await writeFile(join(notes, "deep/a.md"), "the fox");
    await writeFile(join(notes, "one.md"), "the fox");
    await writeFile(join(notes, "one.txt"), "the fox");
    await symlink("/etc/hostname", join(notes, "deep/link.md"));
    const extraPaths = [join(notes, "deep"), join(notes, "one.md"), join(notes, "one.txt"), join(notes, "gone")];
    const { ask, workspace, engine } = await scene(t, { "MEMORY.md": "the fox" }, { memory: { extraPaths } });
    const { hits, leftOut } = await ask("fox");
    assert.deepEqual(
      hits.map(({ path }) => path).toSorted(),
      ["MEMORY.md", join(notes, "deep/a.md"), join(notes, "one.md")].toSorted(),
    );
    assert.deepEqual(
      leftOut.map(({ path }) => path).toSorted(),
      [join(notes, "deep/link.md"), join(notes, "gone"), join(notes, "one.txt")].toSorted(),
    );
    const without = await engine.search(memoryOf(workspace), query("fox"), never);
    assert.deepEqual(
      without.hits.map(({ path }) => path),
      ["MEMORY.md"],
    );
  });

  it("is bounded in bytes, and reports skipped files", async (t) => {
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
    const { files: count, leftOut } = await ask("fox");
    assert.ok(count >= MAX_FILES - 2 && count <= MAX_FILES);
    assert.match(String(leftOut[0]?.reason), /only the first 2000 files/);
  });

  it("is aborted with its run, and the next one continues", async (t) => {
    const { ask, places } = await scene(t, files);
    const stopping = new AbortController();
    const asked = ask("atlas", {}, stopping.signal);
    stopping.abort();
    await assert.rejects(asked, { name: "AbortError" });
    await assert.rejects(ask("atlas", {}, AbortSignal.abort()), { name: "AbortError" });
    assert.deepEqual(await places("atlas"), ["MEMORY.md:4-5"]);
  });

  it("runs concurrently with a refresh, and sees only whole files", async (t) => {
    const { places, engine, memory, write } = await scene(t, files);
    for (let index = 0; index < 50; index += 1) await write(`memory/many/${index}.md`, `note ${index}`);
    const words = ["atlas", "tomatoes", "atlas", "weather"];
    const [all] = await Promise.all([
      Promise.all(words.map((word) => places(word))),
      engine.sync(memory, true, never),
      engine.sync(memory, false, never),
    ]);
    assert.deepEqual(all, [
      ["MEMORY.md:4-5"],
      ["memory/projects/garden.md:1-2"],
      ["MEMORY.md:4-5"],
      ["memory/2026-01-02.md:1-2"],
    ]);
  });

  it("sees only the files and the word frequencies of its agent", async (t) => {
    const { engine, ask, workspace } = await scene(t, { "MEMORY.md": "the fox" });
    const alone = (await ask("fox")).hits[0]?.score;
    const other = await scene(t, { "MEMORY.md": "the cat", "memory/a.md": "a fox", "memory/b.md": "one more fox" });
    const second = memoryOf(other.workspace, { agentId: "other" });
    assert.equal((await engine.search(second, query("cat fox"), never)).hits.length, 3);
    const first = await engine.search(memoryOf(workspace), query("cat fox"), never);
    assert.deepEqual([first.hits[0]?.snippet, first.hits.length], ["the fox", 1]);
    assert.equal((await ask("fox")).hits[0]?.score, alone);
    await engine.keep(["main"]);
    assert.equal(await engine.figures(second), undefined);
    assert.equal((await ask("fox")).hits[0]?.score, alone);
  });
});

describe("an index", () => {
  it("reads only changed files, and follows new and deleted ones", async (t) => {
    const { write, remove, places, engine, memory } = await scene(t, {
      "MEMORY.md": "the cat",
      "memory/a.md": "the dog",
    });
    const sync = async () => {
      const { changed, removed, files, chunks } = await engine.sync(memory, false, never);
      return { changed, removed, files, chunks };
    };
    assert.deepEqual(await sync(), { changed: 2, removed: 0, files: 2, chunks: 2 });
    assert.deepEqual(await sync(), { changed: 0, removed: 0, files: 2, chunks: 2 });
    await write("MEMORY.md", "the bat");
    assert.deepEqual(await sync(), { changed: 1, removed: 0, files: 2, chunks: 2 });
    assert.deepEqual([await places("cat"), await places("bat")], [[], ["MEMORY.md:1-1"]]);
    assert.equal((await engine.sync(memory, true, never)).changed, 2, "all of them when it is forced");
    await write("memory/b.md", "a cat again");
    assert.deepEqual(await places("cat"), ["memory/b.md:1-1"]);
    await remove("memory/a.md");
    assert.deepEqual(await sync(), { changed: 0, removed: 1, files: 2, chunks: 2 });
    assert.deepEqual(await places("dog"), []);
  });

  it("follows a renamed file, and one replaced by another file", async (t) => {
    const { workspace, write, places } = await scene(
      t,
      { "memory/a.md": "the cat" },
      { now: () => Date.now() + 60_000 },
    );
    const past = new Date(2020, 1, 1);
    await utimes(join(workspace, "memory/a.md"), past, past);
    assert.deepEqual(await places("cat"), ["memory/a.md:1-1"]);
    await rename(join(workspace, "memory/a.md"), join(workspace, "memory/b.md"));
    assert.deepEqual(await places("cat"), ["memory/b.md:1-1"]);
    await write("draft", "the dog");
    await utimes(join(workspace, "draft"), past, past);
    await rename(join(workspace, "draft"), join(workspace, "memory/b.md"));
    assert.deepEqual([await places("cat"), await places("dog")], [[], ["memory/b.md:1-1"]]);
  });

  it("outlives its process, is private, and checks no files if configured so", async (t) => {
    const { engine, memory, file, open: again, write, places, notes } = await scene(t, { "MEMORY.md": "the cat" });
    assert.deepEqual(await places("cat"), ["MEMORY.md:1-1"]);
    await engine.close();
    await engine.close();
    const { mode } = await stat(file);
    assert.equal(mode & 0o777, 0o600);
    await write("MEMORY.md", "the dog");
    const next = again();
    const stale = await next.search(memory, query("cat", { refresh: false }), never);
    assert.equal(stale.hits.length, 1);
    assert.equal((await next.search(memory, query("cat"), never)).hits.length, 0);
    assert.deepEqual(notes, []);
  });

  it("is rebuilt for another chunk size", async (t) => {
    const paragraphs = Array.from({ length: 20 }, (_, index) => `cat ${"word ".repeat(20)}${index}`).join("\n\n");
    const { engine, memory } = await scene(t, { "MEMORY.md": paragraphs });
    const { chunks } = await engine.sync(memory, false, never);
    const small = { ...memory, chunking: { ...CHUNKING, tokens: 60, overlap: 0 } };
    const { chunks: more, changed } = await engine.sync(small, false, never);
    assert.equal(changed, 1);
    assert.ok(more > chunks, `${more} of ${chunks}`);
  });

  it("reports its figures, and creates no file for them", async (t) => {
    const { engine, memory, file } = await scene(t, { "MEMORY.md": "# A\none\n# B\ntwo" }, { now: () => 1_000 });
    assert.equal(await engine.figures(memory), undefined);
    await assert.rejects(stat(file), { code: "ENOENT" });
    await engine.sync(memory, false, never);
    const { indexBytes = 0, ...figures } = (await engine.figures(memory)) ?? {};
    assert.deepEqual(figures, { files: 1, chunks: 2, vectors: 0, lastIndexedAt: 1_000 });
    assert.ok(indexBytes > 0);
  });

  const damages: [what: string, damage: (file: string) => Promise<void>][] = [
    ["is no database", (file) => writeFile(file, "not a database at all, just some text ".repeat(100))],
    ["is of another version", async (file) => execVersion(file)],
    [
      "is damaged in its middle",
      async (file) => {
        const { size } = await stat(file);
        const handle = await open(file, "r+");
        for (let at = 4_096; at < size; at += 4_096) await handle.write(Buffer.alloc(2_048, 0x5a), 0, 2_048, at + 8);
        await handle.close();
      },
    ],
    ["is cut off", async (file) => writeFile(file, (await readFile(file)).subarray(0, 6_000))],
  ];
  for (const [what, damage] of damages)
    it(`that ${what} is reported as damaged, and recreated`, async (t) => {
      const files = Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [`memory/${index}.md`, `cat ${index}`]),
      );
      const { engine, memory, file, open: again } = await scene(t, files);
      await engine.sync(memory, false, never);
      await engine.close();
      await damage(file);
      const damaged = again();
      for (const _turn of [1, 2])
        await assert.rejects(damaged.search(memory, query("cat"), never), { name: "Damaged" });
      await damaged.close();
      const { hits, files: count } = await again(true).search(memory, query("cat"), never);
      assert.deepEqual([hits.length, count], [6, 30]);
    });

  it("with an unusable path is refused with the next step, and retried", async (t) => {
    const { engine, memory, file } = await scene(t, { "MEMORY.md": "the cat" });
    await mkdir(file); // a directory instead of the file
    await assert.rejects(engine.search(memory, query("cat"), never), /cannot be opened: .+; check that/);
  });
});

async function execVersion(file: string): Promise<void> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const database = new DatabaseSync(file);
  database.exec("PRAGMA user_version = 99");
  database.close();
}
