/** Archives of strangers are unpacked below one directory, or not at all. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { unpackArchive } from "@svc/kit/archive";
import { Header, type HeaderData } from "tar";
import { directory } from "../../../directory.ts";
import { zip } from "./zip.ts";

const LIMITS = { packedBytes: 1_000_000, unpackedBytes: 1_000_000, entries: 20 };

type TarEntry = { readonly path: string; readonly content?: string | Buffer } & HeaderData;

function tgz(...entries: TarEntry[]): Buffer {
  const parts = entries.map(({ path, content = "", ...data }) => {
    const body = Buffer.from(content);
    const block = Buffer.alloc(512);
    const header = { size: body.length, type: "File" as const, mtime: new Date(0), mode: 0o644, ...data, path };
    new Header(header).encode(block);
    return Buffer.concat([block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(1_024)]));
}

async function unpack(t: TestContext, bytes: Buffer, limits = LIMITS) {
  const base = directory(t, "svc-unpack-");
  const [file, target] = [join(base, "file"), join(base, "target")];
  writeFileSync(file, bytes);
  mkdirSync(target);
  try {
    await unpackArchive(file, target, limits);
  } finally {
    assert.equal(existsSync(join(base, "evil")), false);
  }
  return { target, base };
}

describe("an archive", () => {
  for (const [format, make] of [
    ["tar", tgz],
    ["zip", zip],
  ] as const)
    it(`in the format ${format} is unpacked with private permissions`, async (t) => {
      const { target } = await unpack(
        t,
        make({ path: "a/b/c.txt", content: "hello" }, { path: "run.sh", content: "#!/bin/sh", mode: 0o100755 }),
      );
      assert.equal(readFileSync(join(target, "a/b/c.txt"), "utf8"), "hello");
      assert.deepEqual(
        ["a/b/c.txt", "run.sh", "a"].map((name) => statSync(join(target, name)).mode & 0o777),
        [0o600, 0o700, 0o700],
      );
    });

  const bytes = (letter: string) =>
    Buffer.from(Array.from({ length: 60_000 }, (_, index) => `${letter}${index * 7_919}`).join(""));
  const many = Array.from({ length: 21 }, (_, index) => ({ path: `${index}` }));
  const hostile: readonly (readonly [what: string, bytes: Buffer, why: RegExp])[] = [
    ["tar with a path that leads out", tgz({ path: "../evil" }), /leads out/],
    ["zip with a path that leads out", zip({ path: "../evil" }), /invalid relative path/],
    ["zip with a path that leads out with backslashes", zip({ path: "..\\evil" }), /invalid characters/],
    ["zip with an absolute path", zip({ path: "/tmp/evil" }), /absolute path/],
    ["tar with a symbolic link", tgz({ path: "l", type: "SymbolicLink", linkpath: "/etc" }), /SymbolicLink/],
    ["tar with a hard link", tgz({ path: "l", type: "Link", linkpath: "/etc/passwd" }), /only files and directories/],
    ["tar with a device", tgz({ path: "l", type: "CharacterDevice" }), /only files and directories/],
    ["zip with a symbolic link", zip({ path: "l", content: "/etc", mode: 0o120777 }), /SymbolicLink/],
    ["zip with a pipe", zip({ path: "l", mode: 0o010644 }), /special file/],
    ["zip with an encrypted file", zip({ path: "l", content: "x", isEncrypted: true }), /encrypted/],
    ["zip that says a wrong size", zip({ path: "l", content: "x".repeat(100), said: 3 }), /too many bytes/],
    ["tar with the same name twice", tgz({ path: "a" }, { path: "A" }), /would be the same file/],
    ["zip with the same name twice", zip({ path: "a" }, { path: "A" }), /would be the same file/],
    ["zip with a file that is also a directory", zip({ path: "a" }, { path: "a/b" }), /also a directory/],
    [
      "tar with too many bytes",
      tgz({ path: "a", content: bytes("a") }, { path: "b", content: bytes("b") }),
      /bytes unpacked/,
    ],
    [
      "zip with too many bytes",
      zip({ path: "a", content: bytes("a") }, { path: "b", content: bytes("b") }),
      /bytes unpacked/,
    ],
    ["zip with too many entries", zip(...many), /more than 20 entries/],
    ["tar with too many entries", tgz(...many), /more than 20 entries/],
    ["text file", Buffer.from("hello"), /neither a gzipped tar archive/],
    ["zip without a directory", Buffer.from("PK\x03\x04 and no more"), /not a readable zip/],
    ["truncated tar", tgz({ path: "a", content: bytes("a") }).subarray(0, 400), /unexpected end/],
    ["file without bytes", Buffer.alloc(0), /neither/],
  ];
  for (const [what, archive, why] of hostile)
    it(`is refused if it is a ${what}`, (t) =>
      assert.rejects(unpack(t, archive), { name: "ArchiveRefusal", message: why }));

  it("is refused before it is read if it is too large", async (t) => {
    for (const archive of [tgz({ path: "a", content: "x" }), zip({ path: "a", content: "x" })])
      await assert.rejects(unpack(t, archive, { ...LIMITS, packedBytes: 10 }), /more than 10 bytes/);
  });
});
