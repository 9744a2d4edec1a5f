/** Hostile archives, made byte by byte: none of them is unpacked. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { ARCHIVE_BOUNDS } from "@svc/kit/archive";
import { Header, type HeaderData } from "tar";
import { lookInto } from "../../../../plugins/plugins/install/archive-thread.ts";
import { PACKAGE_LIMITS, readArchive } from "../../../../plugins/plugins/install/archive.ts";

const directory = mkdtempSync(join(tmpdir(), "svc-archives-"));
after(() => rmSync(directory, { recursive: true, force: true }));

/** An entry as a tar archive has it. Nothing is checked or corrected on the way. */
function entry(path: string, content: string | Buffer = "", data: HeaderData = {}): Buffer {
  const body = Buffer.from(content);
  const block = Buffer.alloc(512);
  new Header({ path, mode: 0o644, size: body.length, type: "File", mtime: new Date(0), ...data }).encode(block);
  return Buffer.concat([block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** A name as raw bytes, which a header made by the library would not take. */
function rawName(name: string): Buffer {
  const whole = entry("package/name-to-be-replaced");
  whole.fill(0, 0, 100);
  whole.write(name, 0, "utf8");
  whole.fill(" ", 148, 156);
  const sum = whole.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  whole.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return whole;
}

/** A name longer than a header takes, as an extended one. */
function longName(path: string): Buffer {
  const record = (length: number): string => `${length} path=${path}\n`;
  let length = Buffer.byteLength(record(0));
  while (Buffer.byteLength(record(length)) !== length) length = Buffer.byteLength(record(length));
  return Buffer.concat([entry("PaxHeader", record(length), { type: "ExtendedHeader" }), entry("package/short")]);
}

const PACKAGE = entry("package/package.json", '{"name":"x"}');
const END = Buffer.alloc(1_024);
let made = 0;

function archive(...parts: Buffer[]): string {
  const file = join(directory, `${(made += 1)}.tgz`);
  writeFileSync(file, gzipSync(Buffer.concat([...parts, END])));
  return file;
}

describe("an archive", () => {
  it("is looked into without unpacking anything", async () => {
    const file = archive(entry("package/", "", { type: "Directory" }), PACKAGE, entry("package/a/b.js", "export {};"));
    assert.deepEqual(await readArchive(file), { packageJson: '{"name":"x"}' });
  });

  const hostile: [what: string, parts: readonly Buffer[], says: RegExp][] = [
    ["a path that leads out", [entry("package/../../x")], /"package\/\.\.\/\.\.\/x" leads out of the archive/],
    ["an absolute path", [rawName("/etc/x")], /"\/etc\/x" is an absolute path/],
    ["a drive", [entry("C:/x")], /"C:\/x" is an absolute path/],
    [
      "a symbolic link",
      [entry("package/x", "", { type: "SymbolicLink", linkpath: "/etc" })],
      /"package\/x" is a SymbolicLink/,
    ],
    [
      "a hard link",
      [entry("package/x", "", { type: "Link", linkpath: "package/package.json" })],
      /"package\/x" is a Link/,
    ],
    ["a device", [entry("package/x", "", { type: "CharacterDevice" })], /"package\/x" is a CharacterDevice/],
    ["a pipe", [entry("package/x", "", { type: "FIFO" })], /"package\/x" is a FIFO/],
    ["a file beside the package", [entry("other/x")], /"other\/x" is not in package\//],
    ["a control character", [entry("package/a\u001b[2Kb")], /"package\/a\\u001b\[2Kb" contains the character U\+/],
    ["a backslash", [rawName("package/..\\..\\x")], /contains the character U\+005C, which is not allowed/],
    ["a character that turns the writing", [entry("package/a\u202eb")], /contains the character U\+/],
    ["a trailing dot", [entry("package/a./x")], /ends with a dot or a space/],
    ["a trailing space", [rawName("package/a /x")], /ends with a dot or a space/],
    ["a device of another system", [entry("package/NUL.js")], /contains a device name/],
    ["a doubled slash", [rawName("package//x")], /is not written as a plain path/],
    [
      "names that differ in case only",
      [entry("package/a.js"), entry("package/A.js")],
      /"package\/A\.js" and "package\/a\.js" would be the same file/,
    ],
    [
      "names that differ in their accents only",
      [entry("package/é.js"), entry("package/e\u0301.js")],
      /would be the same file/,
    ],
    ["the same name twice", [PACKAGE], /would be the same file/],
    [
      "a file where another needs a directory",
      [entry("package/a"), entry("package/a/b")],
      /"package\/a" would be a file and also a directory/,
    ],
    ["an over-long path", [longName(`package/${"d/".repeat(300)}x`)], /is longer than 512 bytes/],
    ["an over-long name", [longName(`package/${"n".repeat(300)}`)], /contains a name of more than 255 bytes/],
  ];
  for (const [what, parts, says] of hostile)
    it(`with ${what} is refused`, () => assert.rejects(readArchive(archive(PACKAGE, ...parts)), says));

  it("that unpacks to far more than it is packed is stopped while it is counted", async () => {
    const zeros = Buffer.alloc(ARCHIVE_BOUNDS.ratioFrom + 1_024);
    await assert.rejects(
      readArchive(archive(PACKAGE, entry("package/bomb", zeros))),
      /bytes unpacked, from \d+ packed/,
    );
    await assert.rejects(readArchive(archive(PACKAGE, END, zeros)), /bytes unpacked/); // behind its end
  });

  it("costs what it holds, wherever that stands", async (t) => {
    const size = ARCHIVE_BOUNDS.ratioFrom - 65_536;
    const places: [where: string, parts: readonly Buffer[]][] = [
      ["in an entry", [PACKAGE, entry("package/zeros", Buffer.alloc(size - 4_096))]],
      ["behind its end", [PACKAGE, END, Buffer.alloc(size)]],
    ];
    for (const [where, parts] of places) {
      const file = archive(...parts);
      const { concat } = Buffer;
      let copied = 0;
      t.mock.method(Buffer, "concat", (list: readonly Uint8Array[], length?: number) => {
        const whole = concat(list, length);
        copied += whole.length;
        return whole;
      });
      await readArchive(file);
      t.mock.restoreAll();
      assert.ok(copied < 2 * size, `${copied} bytes copied for ${size} ${where}`);
    }
  });

  it("with more metadata than entries need is refused", async () => {
    const comment = entry("PaxHeader", `600009 comment=${"x".repeat(599_993)}\n`, { type: "ExtendedHeader" });
    const parts = Array.from({ length: 8 }, (_, index) => [comment, entry(`package/${index}`)]).flat();
    await assert.rejects(readArchive(archive(PACKAGE, ...parts)), /more than 4194304 characters of metadata/);
    const huge = entry("PaxHeader", Buffer.alloc(2_000_000, "x"), { type: "ExtendedHeader" });
    await assert.rejects(
      readArchive(archive(PACKAGE, huge, entry("package/x"))),
      /metadata of more than 1048576 bytes/,
    );
  });

  it("that is packed twice is refused, since the inner one would go uncounted", async () => {
    const file = join(directory, "twice.tgz");
    writeFileSync(file, gzipSync(gzipSync(Buffer.concat([PACKAGE, END]))));
    await assert.rejects(readArchive(file), /it is compressed twice/);
  });

  it("with too many entries is refused", async () => {
    const many = Array.from({ length: PACKAGE_LIMITS.entries }, (_, index) => entry(`package/${index}`));
    await assert.rejects(readArchive(archive(PACKAGE, ...many)), /more than 20000 entries/);
  });

  it("with too many directories that only stand in paths is refused", async () => {
    const deep = Array.from({ length: 100 }, (_, index) => longName(`package/${index}/${"d/".repeat(220)}x`));
    await assert.rejects(readArchive(archive(PACKAGE, ...deep)), /more than 20000 entries/);
  });

  const broken: [what: string, bytes: Buffer, says: RegExp][] = [
    ["cut off", gzipSync(Buffer.concat([PACKAGE, END])).subarray(0, 60), /./],
    ["no archive", Buffer.from("hello"), /it is not a gzipped tar archive/],
    ["empty", Buffer.alloc(0), /it is not a gzipped tar archive/],
    ["garbage inside", gzipSync(Buffer.alloc(2_048, 7)), /./],
    ["without a package.json", gzipSync(Buffer.concat([entry("package/x"), END])), /no package\/package\.json/],
  ];
  for (const [what, bytes, says] of broken)
    it(`that is ${what} is refused`, async () => {
      const file = join(directory, `broken-${(made += 1)}.tgz`);
      writeFileSync(file, bytes);
      await assert.rejects(readArchive(file), says);
    });
});

describe("the thread that looks into an archive", () => {
  const isFailure = (says: RegExp) => (error: Error & { step?: string }) => {
    assert.equal(error.step, "archive");
    assert.match(error.message, says);
    return true;
  };

  it("answers what is in it, or why it is not unpacked", async () => {
    assert.deepEqual(await lookInto(archive(PACKAGE)), { packageJson: '{"name":"x"}' });
    const why = /^archive: not unpacked: "other\/x" is not in package\/.*\nNext: report it to the author/u;
    await assert.rejects(lookInto(archive(PACKAGE, entry("other/x"))), isFailure(why));
    await assert.rejects(lookInto(join(directory, "missing.tgz")), isFailure(/ENOENT/u));
  });

  it("is ended when it takes too long, or ends without an answer", async () => {
    const endless = (program: string) => () => new Worker(program, { eval: true });
    const late = lookInto("x", { start: endless("setInterval(() => {}, 1000)"), timeoutMs: 1 });
    await assert.rejects(late, isFailure(/inspecting it took longer than 1 ms/u));
    await assert.rejects(lookInto("x", { start: endless("") }), isFailure(/ended without a result/u));
  });
});
