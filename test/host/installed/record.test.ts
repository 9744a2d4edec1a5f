/** The record of installed plugins: written atomically, and rejected as a whole if it is invalid. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type Installed,
  type InstalledPlugin,
  readRecord,
  recordPath,
  recordText,
} from "../../../host/installed/record.ts";
import { installedSources } from "../../../host/installed/sources.ts";
import { directory } from "../../directory.ts";

const PLUGIN: InstalledPlugin = {
  source: "npm",
  spec: "pen@^1",
  name: "pen",
  version: "1.0.0",
  directory: "pen/gen-2",
  integrity: "sha512-x",
  tree: "sha256-x",
  agreed: ["rights all"],
  generation: 2,
  installedAt: 1,
  previous: {
    source: "link",
    spec: "/src/pen",
    name: "pen",
    version: "0.9.0",
    directory: "/src/pen",
    integrity: "",
    tree: "",
    agreed: [],
    generation: 1,
    installedAt: 0,
  },
};

function write(extensions: string, installed: Installed): void {
  writeFileSync(recordPath(extensions), recordText(installed), { mode: 0o600 });
}

describe("the record", () => {
  it("is read as written, with the same bytes for the same content", (t) => {
    const extensions = directory(t);
    assert.deepEqual(readRecord(extensions), new Map());
    write(extensions, new Map([["pen", PLUGIN]]));
    const bytes = readFileSync(recordPath(extensions));
    const read = readRecord(extensions);
    assert.ok(!("problem" in read));
    assert.deepEqual(read.get("pen"), PLUGIN);
    write(extensions, read);
    assert.deepEqual(readFileSync(recordPath(extensions)), bytes);
  });

  const text = (plugin: object, id = "pen") => JSON.stringify({ version: 1, plugins: { [id]: plugin } });
  const wrong: [what: string, content: string, says: RegExp][] = [
    ["truncated", text(PLUGIN).slice(0, -9), /is truncated or not valid JSON/],
    ["empty", "", /is truncated or not valid JSON/],
    ["of another version", JSON.stringify({ version: 2, plugins: {} }), /does not have the expected content/],
    ["without a field", text({ ...PLUGIN, tree: undefined }), /does not have the expected content/],
    ["with an unknown field", text({ ...PLUGIN, run: "x" }), /does not have the expected content/],
    ["of an odd id", text({ ...PLUGIN, directory: "../pen/gen-2" }, "../pen"), /has an invalid directory/],
    ["of an odd package", text({ ...PLUGIN, name: "../../../pen" }), /has an invalid directory/],
    ["leading out", text({ ...PLUGIN, directory: "../../pen" }), /has an invalid directory for the plugin pen/],
    ["leading to another plugin", text({ ...PLUGIN, directory: "ink/gen-2" }), /has an invalid directory/],
    ["linked relatively", text({ ...PLUGIN, source: "link", directory: "pen" }), /has an invalid directory/],
  ];
  for (const [what, content, says] of wrong)
    it(`${what}: a problem, not a crash, and no plugin is loaded`, (t) => {
      const extensions = directory(t);
      writeFileSync(recordPath(extensions), content, { mode: 0o600 });
      const read = readRecord(extensions);
      assert.ok("problem" in read);
      assert.match(read.problem, says);
    });

  it("is a problem if others may write it, or if it is a link", (t) => {
    const extensions = directory(t);
    writeFileSync(recordPath(extensions), text(PLUGIN));
    chmodSync(recordPath(extensions), 0o622);
    assert.match((readRecord(extensions) as { problem: string }).problem, /is writable by others/);
    rmSync(recordPath(extensions));
    writeFileSync(join(extensions, "real.json"), text(PLUGIN), { mode: 0o600 });
    symlinkSync("real.json", recordPath(extensions));
    assert.match((readRecord(extensions) as { problem: string }).problem, /cannot be read: ELOOP/);
  });

  it("yields a missing plugin, with the next step, for each plugin without files", (t) => {
    const stateDir = directory(t);
    mkdirSync(join(stateDir, "extensions"));
    write(join(stateDir, "extensions"), new Map([["pen", PLUGIN]]));
    const [source, ...more] = installedSources({ stateDir, cacheDir: stateDir });
    assert.deepEqual(more, []);
    assert.ok(source && !("load" in source));
    assert.deepEqual([source.origin, /cannot be read.*svc plugins update pen/.test(source.reason)], ["pen", true]);
  });
});
