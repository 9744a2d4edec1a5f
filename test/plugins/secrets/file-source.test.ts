/** Every refusal of the source file. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createFileSource } from "../../../plugins/secrets/file-source.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { directory } from "../../directory.ts";
import { providerWith, systemClock } from "./scene.ts";

const CANARY = "canary-file-8c61";
const { signal } = new AbortController();

interface Given {
  readonly text?: string | Uint8Array;
  readonly settings?: object;
  readonly mode?: number;
}

async function written(t: TestContext, { text = JSON.stringify({ key: CANARY }), mode = 0o600 }: Given = {}) {
  const path = join(directory(t), "secrets.json");
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

async function look(t: TestContext, ids: readonly string[], given: Given = {}) {
  const path = await written(t, given);
  return createFileSource({ clock: systemClock }).resolve(providerWith({ path, ...given.settings }), ids, signal);
}

/** Matches an error with this text that quotes nothing of the file. */
const because = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Error);
  assert.match(error.message, words);
  assert.match(error.message, /^secrets\.providers\.vault: /u);
  assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, new RegExp(CANARY, "u"));
  return true;
};

describe("the source file", () => {
  it("finds strings by pointer; a missing, empty or other value is left out", async (t) => {
    const text = JSON.stringify({ a: { b: CANARY }, empty: "", number: 1, object: {}, list: ["x"], none: null });
    const ids = ["/a/b", "/empty", "/number", "/object", "/list/0", "/none", "/missing", "/__proto__", "/a/__proto__"];
    assert.deepEqual(
      [...(await look(t, ids, { text }))],
      [
        ["/a/b", CANARY],
        ["/list/0", "x"],
      ],
    );
  });

  const singles: [why: string, text: string, value: string | undefined][] = [
    ["a value", CANARY, CANARY],
    ["one line break at its end, which is not part of it", `${CANARY}\n`, CANARY],
    ["a line break of Windows", `${CANARY}\r\n`, CANARY],
    ["several lines, which are", `a\nb\n\n`, "a\nb\n"],
    ["spaces, which are", ` ${CANARY} `, ` ${CANARY} `],
    ["a byte order mark, which is not", `\uFEFF${CANARY}`, CANARY],
    ["nothing", "", undefined],
    ["nothing but a line break", "\n", undefined],
  ];
  it("reads a single value without a byte order mark and the line break at its end", async (t) => {
    for (const [why, text, value] of singles) {
      const found = await look(t, ["value"], { text, settings: { mode: "singleValue" } });
      assert.equal(found.get("value"), value, why);
    }
  });

  const refusals: [why: string, given: Given, words: RegExp][] = [
    ["one that the group can read", { mode: 0o640 }, /can be read or written by others \(mode 0640\); run: chmod 600/u],
    ["one that everybody can read", { mode: 0o604 }, /mode 0604/u],
    ["one that the group can write", { mode: 0o620 }, /mode 0620/u],
    ["one that everybody can write", { mode: 0o602 }, /mode 0602/u],
    ["a broken one, without quoting it", { text: `{"key":"${CANARY}` }, /is not JSON; correct it/u],
    ["JSON with something behind it", { text: `"${CANARY}" ${CANARY}` }, /is not JSON/u],
    ["one that is empty", { text: "" }, /is not JSON/u],
    ["bytes that are no text", { text: Uint8Array.from([0x22, 0xff, 0xfe, 0x22]) }, /not text in UTF-8/u],
    [
      "one that is a byte too large",
      { settings: { maxBytes: JSON.stringify({ key: CANARY }).length - 1 } },
      /has more than \d+ bytes; raise maxBytes/u,
    ],
    ["a huge one, with the usual limit", { text: `"${"x".repeat(1_048_576)}"` }, /more than 1048576 bytes/u],
  ];
  it("refuses a file that others can read or write, that is too large, or not what its mode requires, without quoting it", async (t) => {
    for (const [, given, words] of refusals) await assert.rejects(look(t, ["/key"], given), because(words));
  });

  it("accepts a file of exactly the maximum size, and a mode for the owner only", async (t) => {
    const maxBytes = JSON.stringify({ key: CANARY }).length;
    const found = await look(t, ["/key"], { settings: { maxBytes }, mode: 0o400 });
    assert.equal(found.get("/key"), CANARY);
  });

  const resolve = (path: string, options: Partial<Parameters<typeof createFileSource>[0]> = {}) =>
    createFileSource({ clock: systemClock, ...options }).resolve(providerWith({ path }), ["/key"], signal);

  it("refuses a symbolic link, even to a valid file, and accepts a hard link", async (t) => {
    const path = await written(t);
    await symlink(path, `${path}.link`);
    await assert.rejects(resolve(`${path}.link`), because(/is a symbolic link; name the file itself/u));
    await link(path, `${path}.hard`);
    assert.equal((await resolve(`${path}.hard`)).get("/key"), CANARY);
  });

  it("refuses everything but a file: a directory, a pipe, a device, nothing", async (t) => {
    const root = directory(t);
    await mkdir(join(root, "d"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    await assert.rejects(resolve(join(root, "d")), because(/not a regular file/u));
    await assert.rejects(resolve(join(root, "pipe")), because(/not a regular file/u));
    await assert.rejects(resolve("/dev/null"), because(/not a regular file/u));
    await assert.rejects(resolve(join(root, "none")), because(/does not exist; create the file/u));
    await assert.rejects(resolve(join(root, "d/none/x")), because(/does not exist/u));
  });

  it("refuses a file of another user, and accepts one of root", async (t) => {
    const path = await written(t);
    const own = process.getuid?.() ?? assert.fail("no users here");
    if (own === 0) {
      assert.equal((await resolve(path, { uid: 12_345 })).get("/key"), CANARY);
      execFileSync("chown", ["54321", path]);
      await assert.rejects(resolve(path), because(/belongs to another user; run: chown 0 /u));
    } else await assert.rejects(resolve(path, { uid: own + 1 }), because(/belongs to another user/u));
  });

  it("stops when the disk is too slow, and when the lookup is stopped", async (t) => {
    const path = await written(t);
    const provider = providerWith({ path, timeoutMs: 50 });
    const clock = createFakeClock();
    const hurried = {
      setTimeout(callback: () => void, ms: number) {
        assert.equal(ms, 50);
        callback();
        return () => {};
      },
    };
    await assert.rejects(
      createFileSource({ clock: hurried }).resolve(provider, ["/key"], signal),
      because(/not read within 50 ms; check the disk, or raise timeoutMs/u),
    );
    const stopped = createFileSource({ clock }).resolve(provider, ["/key"], AbortSignal.abort());
    await assert.rejects(stopped, because(/was stopped/u));
    assert.equal(clock.pending, 0);
  });

  it('accepts pointers as ids in mode json, and only "value" in mode singleValue', () => {
    const ids: [id: string, mode: string, ok: boolean][] = [
      ["/a~1b", "json", true],
      ["value", "json", false],
      ["value", "singleValue", true],
      ["/value", "singleValue", false],
      ["", "singleValue", false],
    ];
    for (const [id, mode, ok] of ids) {
      const why = createFileSource({ clock: systemClock }).checkId(id, providerWith({ path: "/s", mode }));
      assert.equal(why === undefined, ok, `${id} in mode ${mode}`);
    }
  });
});
