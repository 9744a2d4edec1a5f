import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import nodeFs, {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { LogFile, type LogFileOptions } from "../../../host/logs/log-file.ts";
import type { FileSettings } from "../../../host/logs/settings.ts";
import { directory } from "../../directory.ts";

const DAY = 86_400_000;
/** Noon, local time. */
const NOON = new Date(2026, 2, 2, 12).getTime();

function open(t: TestContext, settings: Partial<FileSettings> = {}, more: Partial<LogFileOptions> = {}) {
  const place = join(directory(t), "logs");
  const clock = { at: NOON, now: () => clock.at };
  const troubles: [message: string | undefined, lost: number | undefined][] = [];
  const all: FileSettings = {
    level: "info",
    directory: place,
    name: undefined,
    maxFileBytes: 1_000_000,
    retentionDays: 7,
    maxTotalBytes: 10_000_000,
    ...settings,
  };
  const file = new LogFile({
    settings: all,
    clock,
    trouble: (error, lost) => troubles.push([error instanceof Error ? error.message : undefined, lost]),
    ...more,
  });
  t.after(() => file.close());
  const read = (name: string) => readFileSync(join(all.directory, name), "utf8");
  const names = () => readdirSync(all.directory).sort();
  const everything = () => names().map(read).join("");
  return { file, clock, troubles, directory: all.directory, settings: all, read, names, everything };
}

describe("the log file", () => {
  it("is one per day, private, in a private directory", (t) => {
    const { file, clock, directory, names, read } = open(t);
    file.write("1\n");
    clock.at += DAY;
    file.write("2\n");
    assert.deepEqual(names(), ["svc-2026-03-02.log", "svc-2026-03-03.log"]);
    assert.equal(read("svc-2026-03-03.log"), "2\n");
    assert.equal(statSync(join(directory, "svc-2026-03-02.log")).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
  });

  it("is renamed with a number when it is full, and a new file gets its name", (t) => {
    const { file, names, read } = open(t, { maxFileBytes: 10 });
    for (const text of ["one", "two", "three", "four", "a line that is longer than a file", "5"])
      file.write(`${text}\n`);
    const numbered = ["1", "2", "3", "4"].map((n) => `svc-2026-03-02.${n}.log`);
    assert.deepEqual(names(), [...numbered, "svc-2026-03-02.log"]);
    const texts = ["one\ntwo\n", "three\n", "four\n", "a line that is longer than a file\n", "5\n"];
    assert.deepEqual(names().map(read), texts);
  });

  it("does the same with a configured name", (t) => {
    const { file, names } = open(t, { maxFileBytes: 4, name: "gateway.log" });
    for (const text of ["one", "two", "three"]) file.write(`${text}\n`);
    assert.deepEqual(names(), ["gateway.1.log", "gateway.2.log", "gateway.log"]);
  });

  it("continues the file of a former process, on a new line", (t) => {
    const { file, directory, read } = open(t, { maxFileBytes: 100 });
    nodeFs.mkdirSync(directory);
    writeFileSync(join(directory, "svc-2026-03-02.log"), '{"half');
    file.write("next\n");
    assert.equal(read("svc-2026-03-02.log"), '{"half\nnext\n');
  });

  it("keeps files for the configured days and bytes; the newest two stay", (t) => {
    const { file, clock, directory, names } = open(t, { maxTotalBytes: 25, retentionDays: 3 });
    nodeFs.mkdirSync(directory);
    const make = (name: string, bytes: number, days: number) => {
      writeFileSync(join(directory, name), "x".repeat(bytes));
      utimesSync(join(directory, name), new Date(NOON), new Date(NOON - days * DAY));
    };
    make("svc-2026-02-20.log", 1, 10);
    make("svc-2026-02-28.log", 20, 2);
    make("svc-2026-03-01.1.log", 5, 1);
    make("svc-2026-03-01.log", 10, 1);
    make("other.log", 10, 99);
    file.write("1\n");
    assert.deepEqual(names(), ["other.log", "svc-2026-03-01.1.log", "svc-2026-03-01.log", "svc-2026-03-02.log"]);
    clock.at += 30 * DAY;
    file.write("2\n");
    assert.deepEqual(names(), ["other.log", "svc-2026-03-02.log", "svc-2026-04-01.log"]);
  });

  it("is opened again if another process renamed or removed it", (t) => {
    const { file, clock, directory, read } = open(t, { name: "x.log" });
    file.write("1\n");
    renameSync(join(directory, "x.log"), join(directory, "x.old"));
    clock.at += 1_500;
    file.write("2\n");
    rmSync(join(directory, "x.log"));
    clock.at += 1_500;
    file.write("3\n");
    assert.deepEqual([read("x.old"), read("x.log")], ["1\n", "3\n"]);
  });

  it("counts the bytes other processes append", (t) => {
    const { file, clock, directory, names } = open(t, { name: "x.log", maxFileBytes: 20 });
    file.write("1\n");
    appendFileSync(join(directory, "x.log"), "0123456789012345678\n");
    clock.at += 1_500;
    file.write("2\n");
    assert.deepEqual(names(), ["x.1.log", "x.log"]);
  });

  it("loses lines while it cannot be written, reports that once, and recovers", (t) => {
    let isFull = true;
    const writeSync = ((...args: Parameters<typeof nodeFs.writeSync>) => {
      if (isFull) throw new Error("ENOSPC: no space left on device");
      return nodeFs.writeSync(...args);
    }) as typeof nodeFs.writeSync; // one of its forms is used
    const { file, clock, troubles, everything } = open(t, {}, { disk: { ...nodeFs, writeSync } });
    file.write("1\n");
    file.write("2\n");
    clock.at += 60_000;
    file.write("3\n");
    assert.deepEqual(troubles, [["ENOSPC: no space left on device", undefined]]);
    isFull = false;
    clock.at += 60_000;
    file.write("4\n");
    assert.deepEqual([troubles[1], everything()], [[undefined, 3], "4\n"]);
  });

  it("ends a line that a full disk truncated", (t) => {
    let room = 3;
    const writeSync = ((fd: number, bytes: Buffer, at: number) => {
      if (room === 0) throw new Error("ENOSPC");
      const written = nodeFs.writeSync(fd, bytes, at, Math.min(room, bytes.length - at));
      room -= written;
      return written;
    }) as typeof nodeFs.writeSync; // the form that is used
    const { file, clock, everything } = open(t, {}, { disk: { ...nodeFs, writeSync } });
    file.write("123456\n");
    room = 1_000;
    clock.at += 60_000;
    file.write("next\n");
    assert.equal(everything(), "123\nnext\n");
  });

  it("is never opened through a link", (t) => {
    const { file, directory, troubles } = open(t, { name: "x.log" });
    nodeFs.mkdirSync(directory);
    symlinkSync(join(directory, "target"), join(directory, "x.log"));
    file.write("1\n");
    assert.equal(troubles.length, 1);
    assert.deepEqual(readdirSync(directory), ["x.log"]);
  });

  it("loses no line when another process renames the file while this one opens it", (t) => {
    const place: { directory?: string } = {};
    const fstatSync = ((fd: number) => {
      renameSync(join(String(place.directory), "x.log"), join(String(place.directory), "x.1.log"));
      return nodeFs.fstatSync(fd);
    }) as typeof nodeFs.fstatSync; // no options
    const { file, directory, troubles, read } = open(t, { name: "x.log" }, { disk: { ...nodeFs, fstatSync } });
    place.directory = directory;
    mkdirSync(directory);
    writeFileSync(join(directory, "x.log"), "old\n");
    file.write("new\n");
    assert.deepEqual([troubles, read("x.1.log")], [[], "old\nnew\n"]);
  });

  it("of two processes loses no line of either", async (t) => {
    const { settings, names, read } = open(t, { maxFileBytes: 1_500, name: "x.log" });
    const module = new URL("../../../host/logs/log-file.js", import.meta.url).href; // compiled next to this test
    const script = (who: string) => `import { LogFile } from ${JSON.stringify(module)};
      const file = new LogFile({ settings: ${JSON.stringify(settings)}, clock: Date, trouble: (error) => { throw error; } });
      for (let i = 0; i < 1500; i++) file.write("${who} " + i + "\\n");
      process.kill(process.pid, "SIGKILL");`;
    const run = (who: string) =>
      once(spawn(process.execPath, ["--input-type=module", "-e", script(who)], { stdio: "inherit" }), "exit");
    await Promise.all([run("a"), run("b")]);
    const lines = names().flatMap((name) => read(name).split("\n").filter(Boolean));
    const expected = ["a", "b"].flatMap((who) => Array.from({ length: 1_500 }, (_, i) => `${who} ${i}`));
    assert.deepEqual(lines.toSorted(), expected.toSorted());
    assert.ok(names().length > 3);
  });
});
