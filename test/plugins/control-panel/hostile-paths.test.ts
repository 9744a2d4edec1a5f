/** No path leads out of the directory of the page. Spec: http/control-panel.md §3 "File resolution safety". */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { find, read } from "../../../plugins/control-panel/files.ts";
import { directory, put } from "../../directory.ts";
import { indexAt, panelScene, SCRIPT } from "./scene.ts";

const limited = { timeout: 120_000 };
const SECRET = "the secret";

describe("a hostile path", limited, () => {
  it("is never answered with a file outside", async (t) => {
    const outside = directory(t);
    put(join(outside, "secret.txt"), SECRET);
    put(join(outside, "panel/index.html"), "inside");
    const scene = await panelScene(t, { root: join(outside, "panel") });
    const up = ["/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt", "/..%5csecret.txt"];
    const more = [
      "/a/../../secret.txt",
      "/assets/../../secret.txt",
      "/x/assets/%2e%2e/%2e%2e/secret.txt",
      "//secret.txt",
    ];
    const odd = [
      "/secret.txt%00.html",
      "/%00",
      "/%252e%252e/secret.txt",
      "/..\\secret.txt",
      "/%ff",
      "/%",
      "/%c0%ae%c0%ae/",
    ];
    const absolute = [`/${outside}/secret.txt`, `/file:${outside}/secret.txt`, "/C:/secret.txt", "/C:%5csecret.txt"];
    for (const path of [...up, ...more, ...odd, ...absolute]) {
      const answer = await scene.get(path);
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
      assert.ok(!answer.text.includes(SECRET), path);
    }
  });

  it("does not follow links out of the directory; links inside it are fine", async (t) => {
    const outside = directory(t);
    put(join(outside, "secret.txt"), SECRET);
    put(join(outside, "sub/secret.txt"), SECRET);
    const scene = await panelScene(t);
    const at = (name: string) => join(scene.root, name);
    symlinkSync(join(outside, "secret.txt"), at("direct.txt"));
    symlinkSync(join(outside, "sub"), at("linked"));
    symlinkSync("assets", at("same"));
    symlinkSync("assets/main.js", at("alias.js"));
    symlinkSync("loop.txt", at("loop.txt"));
    linkSync(at("assets/main.js"), at("hard.js"));
    for (const path of ["/direct.txt", "/linked/secret.txt", "/loop.txt"]) {
      const answer = await scene.get(path);
      assert.deepEqual([answer.status, answer.text], [404, "Not Found"], path);
    }
    for (const path of ["/same/main.js", "/alias.js", "/hard.js"])
      assert.equal((await scene.get(path)).text, SCRIPT, path);
  });

  it("a file that is swapped for a link between the check and the opening is not read", async (t) => {
    const root = directory(t);
    const outside = directory(t);
    put(join(outside, "a.txt"), SECRET);
    put(join(root, "dir/a.txt"), "inside");
    const place = { directory: root, isBundled: false };
    const file = await find(place, "dir/a.txt");
    assert.ok(file && file !== "refused");
    assert.equal((await read(file))?.toString(), "inside");
    renameSync(join(root, "dir"), join(root, "former"));
    symlinkSync(outside, join(root, "dir"));
    assert.equal(await read(file), undefined, "a directory");
    put(join(root, "b.txt"), "inside");
    const other = await find(place, "b.txt");
    assert.ok(other && other !== "refused");
    renameSync(join(root, "b.txt"), join(root, "c.txt"));
    symlinkSync(join(outside, "a.txt"), join(root, "b.txt"));
    assert.equal(await read(other), undefined, "a file");
  });

  it("pipes, directories and files that are too large are not served", async (t) => {
    const scene = await panelScene(t);
    execFileSync("mkfifo", [join(scene.root, "pipe.txt"), join(scene.root, "pipe")]);
    mkdirSync(join(scene.root, "directory.txt"));
    writeFileSync(join(scene.root, "huge.txt"), "");
    truncateSync(join(scene.root, "huge.txt"), 16 * 1_024 * 1_024 + 1);
    for (const path of ["/pipe.txt", "/directory.txt", "/huge.txt"]) {
      const answer = await scene.get(path);
      assert.deepEqual([answer.status, answer.text], [404, "Not Found"], path);
    }
    assert.equal((await scene.get("/pipe")).text, indexAt(""));
    truncateSync(join(scene.root, "huge.txt"), 16 * 1_024 * 1_024);
    assert.equal((await scene.get("/huge.txt")).bytes.length, 16 * 1_024 * 1_024);
    assert.equal((await scene.get(`/${"a".repeat(5_000)}.txt`)).status, 404);
    assert.equal((await scene.get(`/${"a".repeat(5_000)}`)).text, indexAt(""));
  });
});
