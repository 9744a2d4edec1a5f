/** What a package needs, read from real directories as Node would look. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { filesOf } from "../../../../plugins/dev/trim/package-files.ts";
import { directory as temporary, put } from "../../../directory.ts";
import { createPackageReader, type InstalledPackage, isInstalled } from "../../../../plugins/dev/trim/package-tree.ts";

function place(t: TestContext): (path: string, json: object, files?: readonly string[]) => string {
  const top = temporary(t);
  return (path, json, files = []) => {
    const directory = join(top, path);
    put(join(directory, "package.json"), JSON.stringify({ version: "1.0.0", ...json }));
    for (const file of files) put(join(directory, file), file);
    return directory;
  };
}

const pathsOf = (files: readonly { readonly path: string }[] | undefined) => files?.map(({ path }) => path).sort();

const reader = (allPlatforms = false) =>
  createPackageReader({ allPlatforms, fallback: { name: "@svc/sdk", directory: "/nowhere" } });

const dependencies = (...names: string[]) => ({ dependencies: Object.fromEntries(names.map((name) => [name, "*"])) });

const namesOf = (one: InstalledPackage) => [...one.dependencies.keys()].sort();

describe("what a package needs", () => {
  it("is looked for from the package upwards, the nearest first, through links", (t) => {
    const make = place(t);
    make("node_modules/far", { name: "far" });
    make("node_modules/near", { name: "near", version: "1.0.0" });
    make("work/a/node_modules/near", { name: "near", version: "2.0.0" });
    const a = make("work/a", { name: "a", ...dependencies("near", "far"), devDependencies: { tool: "*" } });
    symlinkSync(a, join(a, "../../node_modules/a"));
    const found = reader()(join(a, "../../node_modules/a"));
    assert.equal(found.directory, a);
    assert.equal(isInstalled(found), false);
    assert.deepEqual(namesOf(found), ["far", "near"]);
    assert.equal(found.dependencies.get("near")?.version, "2.0.0");
    assert.equal(isInstalled(found.dependencies.get("near") as InstalledPackage), true);
  });

  it("counts peers it cannot do without, and leaves optional ones to others", (t) => {
    const make = place(t);
    make("node_modules/peer", { name: "peer" });
    make("node_modules/maybe", { name: "maybe" });
    const a = make("a", {
      name: "a",
      peerDependencies: { peer: "*", maybe: "*" },
      peerDependenciesMeta: { maybe: { optional: true } },
    });
    assert.deepEqual(namesOf(reader()(a)), ["peer"]);
  });

  it("takes optional packages of this system, those of others only when asked", (t) => {
    const make = place(t);
    const other = process.platform === "win32" ? "linux" : "win32";
    make("node_modules/here", { name: "here", os: [process.platform], cpu: [process.arch] });
    make("node_modules/there", { name: "there", os: [other] });
    make("node_modules/not-here", { name: "not-here", os: [`!${process.platform}`] });
    const optional = { here: "*", there: "*", "not-here": "*", absent: "*" };
    const a = make("a", { name: "a", optionalDependencies: optional });
    assert.deepEqual(namesOf(reader()(a)), ["here"]);
    assert.deepEqual(namesOf(reader(true)(a)), ["here", "not-here", "there"]);
  });

  it("is refused by name when it is not there", (t) => {
    const make = place(t);
    const a = make("a", { name: "a", ...dependencies("gone") });
    assert.throws(() => reader()(a), {
      name: "PackageProblem",
      message: `a 1.0.0 needs the package gone, which is not installed\nNext: npm install, in ${a}`,
    });
  });

  it("may go round in circles", (t) => {
    const make = place(t);
    make("node_modules/b", { name: "b", ...dependencies("c") });
    make("node_modules/c", { name: "c", ...dependencies("b") });
    const b = reader()(make("a", { name: "a", ...dependencies("b") })).dependencies.get("b");
    assert.equal(b?.dependencies.get("c")?.dependencies.get("b"), b);
  });
});

describe("the files of a package", () => {
  it("are all of an installed one but its own node_modules, with add-ons for this system only", async (t) => {
    const make = place(t);
    const here = `prebuilds/${process.platform}-${process.arch}/x.node`;
    const both = `prebuilds/${process.platform}-x64+arm64/x.node`;
    const names = ["index.js", "lib/a.js", here, both, "prebuilds/aix-ppc64/x.node", "node_modules/inner/index.js"];
    const found = reader()(make("node_modules/a", { name: "a" }, names));
    const files = async (all: boolean) => pathsOf((await filesOf([found], all)).get(found));
    assert.deepEqual(await files(false), ["index.js", "lib/a.js", "package.json", here, both].sort());
    assert.ok((await files(true))?.includes("prebuilds/aix-ppc64/x.node"));
  });

  it("are of a source directory what npm would publish, with their sizes", async (t) => {
    const make = place(t);
    const files = ["dist/plugin.js", "plugin.ts", "test/a.test.ts", "README.md"];
    const a = reader()(make("work/a", { name: "a", files: ["dist"] }, files));
    const b = reader()(make("work/b", { name: "@x/b" }, ["index.js"]));
    const found = await filesOf([a, b], false);
    assert.deepEqual(pathsOf(found.get(a)), ["README.md", "dist/plugin.js", "package.json"]);
    assert.equal(found.get(a)?.find(({ path }) => path === "dist/plugin.js")?.bytes, "dist/plugin.js".length);
    assert.deepEqual(pathsOf(found.get(b)), ["index.js", "package.json"]);
  });

  it("cannot hold a link", async (t) => {
    const make = place(t);
    const directory = make("node_modules/a", { name: "a" });
    symlinkSync("/etc/hostname", join(directory, "link"));
    const found = reader()(directory);
    await assert.rejects(filesOf([found], false), {
      name: "PackageProblem",
      message: /a\/link is a link or not a file/,
    });
  });
});
