/** Real files, real events; each test waits for the call it expects. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../../host/clock.ts";
import { watchConfig } from "../../../host/config/watch.ts";
import { tempDirectory } from "./scene.ts";

const LIMIT = { timeout: 20_000 };
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A watched directory; `next()` resolves at the next call not awaited yet. */
async function watched(t: TestContext, files: string[], during: () => Promise<void> = async () => {}) {
  const heard = { calls: 0, taken: 0 };
  let wake = () => {};
  const stop = await watchConfig({
    files: () => files,
    debounceMs: () => 30,
    stableMs: 20,
    clock: systemClock,
    log,
    async changed() {
      heard.calls++;
      await during();
      wake();
    },
  });
  t.after(stop);
  const next = async () => {
    while (heard.calls === heard.taken) await new Promise<void>((resolve) => (wake = resolve));
    heard.taken = heard.calls;
  };
  return { next, stop, calls: () => heard.calls };
}

/** Reads everything at each call, like a gateway. `write` resolves when its text was read. */
async function reader(t: TestContext, files: string[]) {
  let seen = "";
  const { next } = await watched(t, files, async () => {
    seen = files.map((path) => (existsSync(path) ? readFileSync(path, "utf8") : "")).join("|");
  });
  const until = async (text: string) => {
    while (!seen.split("|").includes(text)) await next();
  };
  return {
    until,
    async write(path: string, text: string) {
      writeFileSync(path, text);
      await until(text);
    },
  };
}

describe("watching the configuration", () => {
  it("reports a first write, a replacement by rename, a deletion and a new file", LIMIT, async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    const { next } = await watched(t, [path]);
    writeFileSync(path, "22");
    await next();
    for (const text of ["333", "4444", "55555"]) {
      writeFileSync(`${path}.tmp`, text);
      renameSync(`${path}.tmp`, path);
      await next();
    }
    rmSync(path);
    await next();
    writeFileSync(path, "again");
    await next();
    writeFileSync(path, "and again");
    await next();
  });

  it("reports a file that replaces a directory", LIMIT, async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    mkdirSync(path);
    const { next } = await watched(t, [path]);
    writeFileSync(`${path}.tmp`, "1");
    rmSync(path, { recursive: true });
    renameSync(`${path}.tmp`, path); // the directory lists the same names as before
    await next();
  });

  it("reports a file whose directory was replaced", LIMIT, async (t) => {
    const directory = join(tempDirectory(t), "conf");
    const path = join(directory, "svc.json");
    for (const name of [directory, `${directory}.new`]) mkdirSync(name);
    for (const name of [directory, `${directory}.new`]) writeFileSync(join(name, "svc.json"), name);
    const { until } = await reader(t, [path]);
    rmSync(directory, { recursive: true });
    renameSync(`${directory}.new`, directory);
    await until(`${directory}.new`);
    for (const text of ["1", "22"]) {
      rmSync(path);
      await until("");
      writeFileSync(path, text);
      await until(text);
    }
  });

  it("reports a file in a directory that is created, deleted and created again", LIMIT, async (t) => {
    const directory = join(tempDirectory(t), "not/there");
    const path = join(directory, "svc.json");
    const { write, until } = await reader(t, [path]);
    for (const text of ["1", "2"]) {
      mkdirSync(directory, { recursive: true });
      await write(path, text);
      rmSync(join(directory, ".."), { recursive: true });
      await until("");
    }
  });

  it("reports included files in other directories, and newly included ones", LIMIT, async (t) => {
    const root = tempDirectory(t);
    for (const name of ["sub", "late"]) mkdirSync(join(root, name));
    const [main, included, later] = [join(root, "svc.json"), join(root, "sub/a.json"), join(root, "late/b.json")];
    for (const path of [main, included, later]) writeFileSync(path, "1");
    const files = [main, included];
    const { write } = await reader(t, files);
    await write(included, "2");
    files.push(later, join(root, "b2.json"));
    await write(main, "3");
    await write(later, "4");
    await write(join(root, "b2.json"), "5");
    files.splice(1, 1);
    await write(main, "6");
    files.push(included);
    await write(main, "7");
    await write(included, "8");
  });

  it("reports the target of a link, and a link that is changed", LIMIT, async (t) => {
    const root = tempDirectory(t);
    for (const name of ["one", "two", "conf"]) mkdirSync(join(root, name));
    writeFileSync(join(root, "one/x.json"), "1");
    writeFileSync(join(root, "two/x.json"), "22");
    const path = join(root, "conf/svc.json");
    symlinkSync("../one/x.json", path);
    const { next } = await watched(t, [path]);
    writeFileSync(join(root, "one/x.json"), "333");
    await next();
    symlinkSync("../two/x.json", `${path}.new`);
    renameSync(`${path}.new`, path);
    await next();
    writeFileSync(join(root, "two/x.json"), "4444");
    await next();
  });

  it("reports a burst once, and no other files in the directory", LIMIT, async (t) => {
    const root = tempDirectory(t);
    const path = join(root, "svc.json");
    writeFileSync(path, "1");
    const { next, calls } = await watched(t, [path]);
    for (let size = 1; size < 20; size++) writeFileSync(path, "x".repeat(size));
    await next();
    assert.equal(calls(), 1);
    writeFileSync(join(root, "state.db"), "noise");
    writeFileSync(path, "end");
    await next();
    assert.equal(calls(), 2);
  });

  it("continues after a call that throws", LIMIT, async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    let failures = 0;
    let failed = () => {};
    const once = new Promise<void>((resolve) => (failed = resolve));
    const { next } = await watched(t, [path], async () => {
      if (failures++ > 0) return;
      failed();
      throw new Error("no");
    });
    writeFileSync(path, "1");
    await once;
    writeFileSync(path, "22");
    await next();
  });

  it("stops, also when called twice, and reports nothing afterwards", LIMIT, async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    const { stop, calls } = await watched(t, [path]);
    writeFileSync(path, "1");
    await stop();
    await stop();
    writeFileSync(path, "2");
    const other = join(path, "..", "other.json"); // a second watcher reports later changes
    const second = await watched(t, [other]);
    writeFileSync(other, "1");
    await second.next();
    assert.equal(calls(), 0);
  });
});
