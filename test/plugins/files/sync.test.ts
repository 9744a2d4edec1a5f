/** Workspaces of two gateways: what one changes, the other gets; nothing that somebody wrote is lost. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { unavailable } from "@svc/sdk";
import { sha256 } from "../../../plugins/files/objects.ts";
import { scene } from "./scene.ts";

const HOUR = 3_600_000;

describe("a workspace of two gateways", () => {
  it("has the files of both, also those in directories, and loses what one deletes", async (t) => {
    const { a, b } = scene(t);
    a.write("AGENTS.md", "be kind");
    a.write("notes/2026/one.md", "1");
    a.write("bytes.bin", Buffer.from([0, 255, 1]));
    await a.push();
    b.write("own.md", "b");
    await b.push();
    await a.pull();
    const all = ["AGENTS.md", "bytes.bin", "notes/2026/one.md", "own.md"];
    assert.deepEqual([a.files(), b.files()], [all, all]);
    assert.equal(b.read("notes/2026/one.md"), "1");
    assert.deepEqual(readFileSync(join(b.root, "bytes.bin")), Buffer.from([0, 255, 1]));
    b.remove("notes/2026/one.md");
    await b.push();
    assert.equal(await a.pull(), true);
    assert.deepEqual(a.files(), ["AGENTS.md", "bytes.bin", "own.md"]);
    assert.deepEqual(readdirSync(a.root).includes("notes"), false, "empty directories go, too");
  });

  it("is changed only where a file has changed", async (t) => {
    const { a, b, memory } = scene(t);
    a.write("a.md", "1");
    await a.push();
    assert.equal(await b.pull(), true);
    assert.equal(await b.pull(), false);
    const { writes } = memory;
    await a.push();
    await b.push();
    assert.equal(memory.writes, writes, "nothing is written without a change");
    assert.deepEqual([a.announced, b.announced], [["main"], []]);
  });

  it("keeps what it knows over a restart", async (t) => {
    const { a, b, memory } = scene(t);
    a.write("a.md", "1");
    a.write("gone.md", "1");
    await a.push();
    await b.pull();
    b.restart();
    const { writes } = memory;
    await b.push();
    assert.equal(memory.writes, writes);
    b.remove("gone.md");
    b.restart();
    await b.push();
    await a.pull();
    assert.deepEqual(a.files(), ["a.md"]);
  });

  it("has executable files where they were executable, and the mode of the gateway otherwise", async (t) => {
    const { a, b } = scene(t);
    a.write("run.sh", "#!/bin/sh", 0o755);
    a.write("a.md", "1", 0o640);
    await a.push();
    await b.pull();
    assert.deepEqual([b.mode("run.sh"), b.mode("a.md")], [0o700, 0o600]);
    b.write("a.md", "2");
    await b.push();
    await a.pull();
    assert.deepEqual([a.read("a.md"), a.mode("a.md")], ["2", 0o640]);
  });

  it("of a gateway that is new has files of its own, and equal ones once", async (t) => {
    const { a, b } = scene(t);
    for (const one of [a, b]) one.write("same.md", "the same");
    a.write("BOOTSTRAP.md", "hello");
    b.write("BOOTSTRAP.md", "hello");
    await a.push();
    a.remove("BOOTSTRAP.md");
    await a.push();
    b.write("own.md", "b");
    await b.push();
    assert.deepEqual(b.files(), ["own.md", "same.md"], "a file that was deleted elsewhere does not come back");
    assert.equal(b.status()?.conflicts, 0);
  });
});

describe("a file that both gateways change", () => {
  it("keeps both contents: the first one under its name, the other one beside it", async (t) => {
    const { a, b } = scene(t);
    a.write("plan.md", "base\n");
    await a.push();
    await b.pull();
    a.write("plan.md", "of a\n");
    b.write("plan.md", "of b\n");
    await a.push();
    await b.push();
    const copy = "plan.conflict-b-2026-01-02T03-04-05-000Z.md";
    assert.deepEqual([b.read("plan.md"), b.read(copy), b.status()?.conflicts], ["of a\n", "of b\n", 1]);
    await a.pull();
    assert.deepEqual(a.files(), [copy, "plan.md"]);
    assert.match(b.warnings.join(), /two gateways changed a file/);
  });

  it("has the lines of both if both only appended", async (t) => {
    const { a, b } = scene(t);
    a.write("memory/day.md", "# Day\n");
    await a.push();
    await b.pull();
    a.write("memory/day.md", "# Day\nof a\n");
    b.write("memory/day.md", "# Day\nof b\n");
    await a.push();
    await b.push();
    await a.pull();
    const merged = "# Day\nof a\nof b\n";
    assert.deepEqual(
      [a.read("memory/day.md"), b.read("memory/day.md"), b.files()],
      [merged, merged, ["memory/day.md"]],
    );
  });

  it("stays if only one of them deletes it", async (t) => {
    const { a, b } = scene(t);
    a.write("x.md", "1");
    a.write("y.md", "1");
    await a.push();
    await b.pull();
    a.remove("x.md");
    a.write("y.md", "2");
    b.write("x.md", "changed");
    b.remove("y.md");
    await a.push();
    await b.push();
    await a.pull();
    for (const one of [a, b]) assert.deepEqual([one.read("x.md"), one.read("y.md")], ["changed", "2"]);
  });

  it("is merged again when others store it at the same moment", async (t) => {
    const { a, b } = scene(t);
    for (let round = 0; round < 5; round++) {
      a.write(`a${round}.md`, "a");
      b.write(`b${round}.md`, "b");
      a.write("day.md", "a\n".repeat(round + 1));
      await Promise.all([a.push(), b.push()]);
    }
    await Promise.all([a.pull(), b.pull()]);
    assert.deepEqual(a.files(), b.files());
    assert.equal(a.files().length, 11);
  });
});

describe("what is not shared", () => {
  it("is ignored, named, and never deleted elsewhere", async (t) => {
    const { a, b, place } = scene(t, { maxFileBytes: 100 });
    writeFileSync(join(place, "secret"), "secret of the machine");
    a.write("a.md", "1");
    await a.push();
    await b.pull();
    a.write(".git/HEAD", "ref");
    a.write("web/node_modules/x.js", "1");
    a.write("big.bin", "x".repeat(101));
    symlinkSync(join(place, "secret"), join(a.root, "link.md"));
    symlinkSync(place, join(a.root, "outside"));
    linkSync(join(place, "secret"), join(a.root, "hard.md"));
    a.remove("a.md");
    symlinkSync(join(place, "secret"), join(a.root, "a.md"));
    await a.push();
    await b.pull();
    assert.deepEqual(b.files(), ["a.md"]);
    assert.equal(b.read("a.md"), "1");
    const skipped = Object.fromEntries((a.status()?.skipped ?? []).map(({ path, reason }) => [path, reason]));
    assert.deepEqual(skipped, {
      "a.md": "it is not a plain file",
      "big.bin": "it has 101 bytes, more than files.maxFileBytes (100)",
      "hard.md": "it has several hard links",
      "link.md": "it is not a plain file",
      outside: "it is not a plain file",
    });
  });

  it("are links: a stored file is never written through one", async (t) => {
    const { a, b, place } = scene(t);
    const outside = join(place, "outside");
    mkdirSync(outside);
    mkdirSync(b.root, { recursive: true });
    symlinkSync(outside, join(b.root, "notes"));
    symlinkSync(join(outside, "x"), join(b.root, "x.md"));
    a.write("notes/a.md", "1");
    a.write("x.md", "1");
    a.write("y.md", "1");
    await a.push();
    await b.push();
    assert.deepEqual([readdirSync(outside), b.read("y.md")], [[], "1"]);
    assert.match(b.warnings.join(), /a shared file was not written/);
    const skipped = new Map(b.status()?.skipped.map(({ path, reason }) => [path, reason]));
    assert.match(skipped.get("notes/a.md") ?? "", /leads out of the workspace/);
    assert.match(skipped.get("x.md") ?? "", /is a symbolic link/);
    await a.pull();
    assert.deepEqual(a.files(), ["notes/a.md", "x.md", "y.md"]);
  });

  it("is a path that leads out of the workspace, whoever has put it into the database", async (t) => {
    const { a, manifest, objects, place } = scene(t);
    const bytes = Buffer.from("bad");
    for (const [at, path] of ["../out.md", "/etc/out.md", "a/../../out.md", "a\\..\\out.md", "./out.md"].entries()) {
      await manifest.reserve(`o${at}`);
      await objects.put(`o${at}`, bytes, new AbortController().signal);
      const now = { sha256: sha256(bytes), size: 3, isExecutable: false, object: `o${at}` };
      await manifest.commit("main", [{ path, was: 0, now }]);
    }
    a.write("a.md", "1");
    await a.push();
    assert.deepEqual([a.files(), readdirSync(place).toSorted()], [["a.md"], ["a", "objects"]]);
  });
});

describe("a workspace is safe", () => {
  it("when its directory is lost or emptied: it is restored instead of deleted everywhere", async (t) => {
    const { a, b } = scene(t);
    for (const name of ["1", "2", "3", "4", "5", "6"]) a.write(`${name}.md`, name);
    await a.push();
    await b.pull();
    rmSync(b.root, { recursive: true });
    await b.push();
    assert.equal(b.files().length, 6);
    for (const name of b.files()) b.remove(name);
    await b.push();
    await a.pull();
    assert.deepEqual([a.files().length, b.files().length], [6, 6]);
    assert.match(b.warnings.join(), /are missing; they are restored/);
  });

  it("when the gateway is killed between writing a file and remembering it", async (t) => {
    const { a, b, place } = scene(t);
    a.write("a.md", "1");
    await a.push();
    await b.pull();
    a.write("a.md", "2");
    a.write("b.md", "1");
    await a.push();
    const base = join(place, "b/base/main.json");
    const before = readFileSync(base);
    await b.pull();
    writeFileSync(base, before); // as if it had ended before the record was written
    b.restart();
    await b.push();
    assert.deepEqual([b.files(), b.read("a.md"), b.status()?.conflicts], [["a.md", "b.md"], "2", 0]);
    for (const damaged of ["", "{", '{"root":1}']) {
      writeFileSync(base, damaged);
      b.restart();
      await b.push();
      assert.deepEqual([b.files(), b.status()?.conflicts], [["a.md", "b.md"], 0]);
    }
  });

  it("when the store fails: the run goes on with the files of its gateway, and all follows later", async (t) => {
    let isDown = true;
    const down = () => unavailable("the bucket refuses: status 403");
    const { a, b } = scene(t, {
      objects: (real) => ({
        ...real,
        put: (...given) => (isDown ? Promise.resolve().then(down) : real.put(...given)),
        get: (...given) => (isDown ? Promise.resolve().then(down) : real.get(...given)),
      }),
    });
    a.write("a.md", "1");
    await a.push();
    await a.push();
    assert.match(a.status()?.error ?? "", /status 403/);
    assert.equal(a.warnings.length, 1, "the same failure is logged once");
    isDown = false;
    await a.push();
    assert.equal(a.status()?.error, undefined);
    isDown = true;
    assert.equal(await b.pull(), false);
    isDown = false;
    await b.pull();
    assert.equal(b.read("a.md"), "1");
  });

  it("when the bytes of a file are damaged or lost in the store", async (t) => {
    const { a, b, place } = scene(t);
    a.write("a.md", "right");
    a.write("b.md", "right");
    await a.push();
    const objects = (readdirSync(join(place, "objects/main")) as string[]).map((name) =>
      join(place, "objects/main", name),
    );
    for (const object of objects) writeFileSync(object, "wrong");
    await b.pull();
    assert.throws(() => b.read("a.md"), { code: "ENOENT" });
    for (const object of objects) rmSync(object);
    a.write("c.md", "right");
    await a.push();
    b.restart();
    await b.pull();
    const asked = b.asked.toSorted((left, right) => left.localeCompare(right));
    assert.deepEqual([b.files(), asked, b.status()?.skipped.length], [["c.md"], ["a.md", "a.md", "b.md", "b.md"], 2]);
    a.write("b.md", "changed");
    await a.restore(b.asked);
    await b.pull();
    assert.deepEqual([b.read("a.md"), b.files(), a.announced.length], ["right", ["a.md", "c.md"], 3]);
    await a.push();
    await b.pull();
    assert.deepEqual([b.read("b.md"), b.status()?.skipped], ["changed", []]);
  });

  it("when a run waits: for 5 s at most", async (t) => {
    const { a, clock } = scene(t, { objects: (real) => ({ ...real, put: () => new Promise(() => {}) }) });
    a.write("a.md", "1");
    let isDone = false;
    const pushed = a.push().then(() => (isDone = true));
    while (clock.pending === 0) await new Promise(setImmediate);
    await clock.advance(4_999);
    assert.equal(isDone, false);
    await clock.advance(1);
    await pushed;
  });

  it("when an agent is deleted: its files are shared no longer, and a later agent inherits none", async (t) => {
    const { a, b } = scene(t);
    a.write("a.md", "1");
    await a.push();
    await b.pull();
    await a.forget();
    a.remove("a.md");
    await b.push();
    a.write("new.md", "1");
    await a.push();
    await b.pull();
    assert.deepEqual([a.files(), b.files()], [["new.md"], ["new.md"]]);
  });
});

describe("what others must know before they get a file", () => {
  it("is recorded before the file is stored", async (t) => {
    const kept: string[] = [];
    const { a, manifest } = scene(t, {
      async keepOrigins(paths) {
        kept.push(...paths);
        assert.equal((await manifest.changes("main", 0)).entries.length, 0);
      },
    });
    a.write("page.md", "from the web");
    await a.push();
    assert.deepEqual(kept, ["page.md"]);
  });
});

describe("old versions", () => {
  it("are garbage after an hour, and so is what no commit has named", async (t) => {
    const { a, clock, manifest } = scene(t);
    a.write("a.md", "1");
    await a.push();
    const [first] = (await manifest.changes("main", 0)).entries;
    a.write("a.md", "2");
    await a.push();
    await manifest.reserve("main/lost");
    assert.deepEqual(await manifest.garbage(10), []);
    await clock.advance(HOUR + 1);
    assert.deepEqual([...(await manifest.garbage(10))].toSorted(), [first?.object ?? "", "main/lost"].toSorted());
    await manifest.removed(["main/lost"]);
    assert.deepEqual(await manifest.garbage(10), [first?.object]);
  });

  it("of deleted files are forgotten after 90 days; a gateway that was away deletes them all the same", async (t) => {
    const { a, b, clock, manifest } = scene(t);
    for (const path of ["a.md", "b.md"]) a.write(path, "1");
    await a.push();
    await b.pull();
    a.remove("b.md");
    await a.push();
    await clock.advance(90 * 24 * HOUR + 1);
    assert.equal(await manifest.forgetDeleted(true), 1);
    assert.equal(await manifest.forgetDeleted(false), 1);
    a.write("c.md", "1");
    await a.push();
    await b.push();
    assert.deepEqual(b.files(), ["a.md", "c.md"]);
  });
});
