/** Installed plugins: an invalid record is rejected as a whole, and a plugin is loaded only as it was installed and agreed to. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { itemsOf } from "../../../host/installed/agreed.ts";
import {
  type Installed,
  type InstalledPlugin,
  type InstalledVersion,
  readRecord,
  recordPath,
  recordText,
} from "../../../host/installed/record.ts";
import { linkSdk, sdkDirectory } from "../../../host/installed/sdk-link.ts";
import { installedSources } from "../../../host/installed/sources.ts";
import { generationTree, treeFault, treeHash, treeOf } from "../../../host/installed/tree.ts";
import { verifyInstalled } from "../../../host/installed/verify.ts";
import { settleModes } from "../../../plugins/plugins/install/dependencies.ts";
import { directory } from "../../directory.ts";
import { writePackage } from "../../plugin-package.ts";

interface Scene {
  readonly extensions: string;
  readonly file: string;
  readonly version: InstalledVersion;
  verify(version?: Partial<InstalledVersion>): Promise<unknown>;
}

/** A generation as created by an installation. */
async function installed(t: TestContext): Promise<Scene> {
  const extensions = directory(t);
  const root = join(extensions, "pen/gen-1");
  const at = await writePackage(join(root, "node_modules/pen"), {
    name: "pen",
    svc: { permissions: { net: ["a:1"] } },
  });
  linkSdk(root);
  await settleModes(root, await generationTree(root));
  const version: InstalledVersion = {
    source: "archive",
    spec: "/pen.tgz",
    name: "pen",
    version: "1.0.0",
    directory: "pen/gen-1",
    integrity: "sha512-x",
    tree: await treeHash(root, await generationTree(root)),
    agreed: [...itemsOf({ id: "pen", permissions: { net: ["a:1"] } }, [])],
    generation: 1,
    installedAt: 0,
  };
  const verify = (more = {}) => verifyInstalled("pen", { ...version, ...more }, extensions);
  return { extensions, file: join(at, "plugin.js"), version, verify };
}

describe("an installed plugin", () => {
  it("is compared byte by byte once, and by its seal from then on", async (t) => {
    const { verify, extensions, file } = await installed(t);
    await verify();
    const seal = readFileSync(join(extensions, "pen/gen-1.seal"), "utf8");
    await verify();
    assert.equal(readFileSync(join(extensions, "pen/gen-1.seal"), "utf8"), seal);
    utimesSync(file, 1, 1); // touched, not changed: compared again
    await verify();
    assert.notEqual(readFileSync(join(extensions, "pen/gen-1.seal"), "utf8"), seal);
  });

  it("that was changed is refused, even with unchanged size and time", async (t) => {
    const { verify, file } = await installed(t);
    await verify();
    const text = readFileSync(file, "utf8");
    utimesSync(file, 5, 5);
    await verify();
    writeFileSync(file, text.replace("1.0.0", "1.0.1"));
    utimesSync(file, 5, 5);
    await assert.rejects(verify(), /its files changed since it was installed\nNext: svc plugins update pen/);
  });

  const changes: [what: string, change: (scene: Scene) => void, says: RegExp][] = [
    ["has one file more", ({ file }) => writeFileSync(`${file}.js`, ""), /its files changed/],
    ["has one file less", ({ file }) => rmSync(file), /its files changed/],
    ["has a file that became a program", ({ file }) => chmodSync(file, 0o755), /its files changed/],
    ["has a file everyone may write", ({ file }) => chmodSync(file, 0o646), /plugin\.js is writable by everyone/],
    ["has a link", ({ file }) => symlinkSync("/etc/passwd", `${file}.link`), /is a symbolic link/],
    ["is gone", ({ extensions }) => rmSync(join(extensions, "pen"), { recursive: true }), /its files no longer exist/],
  ];
  for (const [what, change, says] of changes)
    it(`that ${what} is refused`, async (t) => {
      const scene = await installed(t);
      await scene.verify();
      change(scene);
      await assert.rejects(scene.verify(), says);
    });

  it("that asks for more than was agreed to is refused", async (t) => {
    const { verify } = await installed(t);
    await assert.rejects(
      verify({ agreed: ["rights all"] }),
      /asks for permissions that were not agreed to: connects to a:1/,
    );
  });

  it("gets the SDK of this host, wherever the link pointed", async (t) => {
    const { verify, extensions } = await installed(t);
    const link = join(extensions, "pen/gen-1/node_modules/@svc/sdk");
    rmSync(link);
    symlinkSync("/nowhere", link);
    await verify();
    assert.equal(readlinkSync(link), sdkDirectory());
  });

  it("that is linked may change, but not ask for more permissions", async (t) => {
    const { extensions } = await installed(t);
    const at = await writePackage(join(extensions, "linked"), { name: "pen" });
    const version: InstalledVersion = {
      ...(await installed(t)).version,
      source: "link",
      directory: at,
      tree: "",
      agreed: ["rights all"],
    };
    await verifyInstalled("pen", version, extensions);
    await writePackage(at, { name: "pen", version: "1.0.1" });
    await verifyInstalled("pen", version, extensions);
    await writePackage(at, { name: "pen", svc: { permissions: { exec: true } } });
    await assert.rejects(
      verifyInstalled("pen", version, extensions),
      /asks for permissions that were not agreed to: runs programs/,
    );
    await writePackage(at, { name: "ink" });
    await assert.rejects(verifyInstalled("pen", version, extensions), /now has the id "ink"/);
    assert.ok(!existsSync(join(at, "node_modules")));
  });
});

describe("a tree", () => {
  it("of another user is refused, unless that is root", async (t) => {
    const { extensions } = await installed(t);
    const entries = await treeOf(join(extensions, "pen"), (path) => path.endsWith("@svc"));
    assert.equal(treeFault(entries, extensions), undefined);
    const owner = entries[0]?.stats.uid ?? 0;
    const foreign = entries.map((entry) => ({
      ...entry,
      stats: Object.assign(Object.create(entry.stats), { uid: 4_242 }),
    }));
    assert.match(treeFault(foreign, extensions, owner) ?? "", /belongs to another user/);
  });

  it("loses set-uid bits and write access for others", async (t) => {
    const { extensions, file } = await installed(t);
    chmodSync(file, 0o6777);
    await settleModes(extensions, await treeOf(extensions, (path) => path.endsWith("@svc")));
    const entry = (await treeOf(extensions)).find(({ path }) => path.endsWith("plugin.js"));
    assert.equal((entry?.stats.mode ?? 0) & 0o7777, 0o755);
  });
});

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
