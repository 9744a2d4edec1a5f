/** The bundled skills: what the package has, and their commands on real files where this machine has the program. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { findOnPath, ownPlaces } from "@svc/kit/exec";
import { parseManifest } from "../../../plugins/skills/library/manifest.ts";
import { root } from "../../checkout.ts";
import { directory, put } from "../../directory.ts";
import { without } from "../../programs.ts";

const BUNDLED = join(root, "plugins/skills/bundled");
const NAMES = ["git-summary", "github", "media-cut", "pdf-text", "table-query", "tmux-sessions"];
const textOf = (name: string) => readFileSync(join(BUNDLED, name, "SKILL.md"), "utf8");
const missing = async (program: string) =>
  (await findOnPath(program, ownPlaces())) === undefined ? `${program} is not installed` : false;
const [noGit, noSqlite] = await Promise.all([missing("git"), missing("sqlite3")]);

describe("the bundled skills", () => {
  it("are valid, and name the programs that their commands use", () => {
    assert.deepEqual(readdirSync(BUNDLED).toSorted(), NAMES);
    for (const name of NAMES) {
      const text = textOf(name);
      const { needs, install, ...manifest } = parseManifest(text, name);
      assert.equal(manifest.name, name);
      assert.ok(needs.bins.length > 0 && needs.bins.every((bin) => text.includes(`${bin} `)), name);
      for (const { bins } of install) assert.deepEqual(bins, needs.bins);
    }
  });

  it("are part of the package", () => {
    const out = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: join(root, "plugins/skills"),
      encoding: "utf8",
    });
    const [{ files }] = JSON.parse(out) as [{ files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    for (const name of NAMES) assert.ok(paths.includes(`bundled/${name}/SKILL.md`), name);
    assert.ok(paths.includes("dist/plugin.js"));
  });

  /** A command of the text, split at spaces outside quotes. */
  const run = (cwd: string, command: string) => execFileSync("/bin/sh", ["-c", command], { cwd, encoding: "utf8" });

  it("table-query sums a CSV file", { skip: noSqlite }, (t) => {
    const cwd = directory(t);
    put(join(cwd, "sales.csv"), "region,amount\nnorth,10\nsouth,5\nnorth,2.5\n");
    const command = /^ {4}(sqlite3 .* :memory: .*)$/m.exec(textOf("table-query"))?.[1] ?? assert.fail();
    assert.equal(run(cwd, command), "region,total\nnorth,12.5\nsouth,5\n");
  });

  it("git-summary counts commits by author", { skip: noGit }, (t) => {
    const cwd = directory(t);
    const commit = "git -c user.name=Ada -c user.email=a@example.com commit -q --allow-empty -m";
    run(cwd, `git init -q . && ${commit} one && ${commit} two`);
    const command = /`(git shortlog .*?) <range>`/.exec(textOf("git-summary"))?.[1] ?? assert.fail();
    assert.match(run(cwd, `${command} HEAD`), /^\s+2\tAda\n$/);
  });

  it("media-cut cuts a file", { skip: without("ffmpeg") }, (t) => {
    const cwd = directory(t);
    run(cwd, "ffmpeg -nostdin -loglevel error -f lavfi -i sine=d=4 in.wav");
    const command = /\| mono speech for transcription \| `(.*)` \|/.exec(textOf("media-cut"))?.[1] ?? assert.fail();
    run(cwd, command.replace("in.m4a", "in.wav"));
    const probe = /`(ffprobe .*?) in\.mp4`/.exec(textOf("media-cut"))?.[1] ?? assert.fail();
    const { format } = JSON.parse(run(cwd, `${probe} out.wav`)) as { format: { duration: string } };
    assert.equal(Number(format.duration), 4);
  });
});
