/** What people type when they install something, and what of it is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { absoluteSpec, type InstallSpec, parseSpec } from "../../../../plugins/plugins/install/spec.ts";

const look = (path: string) =>
  /\.(?:tgz|ts)$/.test(path) ? "file" : path.includes("none") || path.includes("#") ? undefined : "directory";
const read = (text: string) => parseSpec(text, look, "/home/me");

describe("what is to be installed", () => {
  const meant: [text: string, spec: InstallSpec][] = [
    ["notes", { source: "npm", name: "notes", range: undefined }],
    ["notes@^1.2", { source: "npm", name: "notes", range: "^1.2" }],
    ["@me/notes@latest", { source: "npm", name: "@me/notes", range: "latest" }],
    ["/a/notes.tgz", { source: "archive", path: "/a/notes.tgz" }],
    ["~/notes", { source: "directory", path: "/home/me/notes" }],
    ["file:///a/notes", { source: "directory", path: "/a/notes" }],
    ["git+file:///a/notes", { source: "git", path: "/a/notes", ref: undefined }],
    ["git+file:///a/notes#v1.2", { source: "git", path: "/a/notes", ref: "v1.2" }],
    ["/a/notes#main", { source: "git", path: "/a/notes", ref: "main" }],
  ];
  for (const [text, spec] of meant) it(`is understood: ${text}`, () => assert.deepEqual(read(text), spec));

  const refused = [
    "",
    "--ignore-scripts=false",
    "notes@--registry=https://example.org",
    "notes@npm:other",
    "notes@https://example.org/x.tgz",
    "notes@../notes",
    "me/notes",
    "github:me/notes",
    "https://example.org/notes.tgz",
    "git+ssh://example.org/notes",
    "git+file:///a/notes#--upload-pack=x",
    "./notes",
    "Notes",
    "/none",
  ];
  for (const text of refused)
    it(`is refused: "${text}"`, () => assert.throws(() => read(text), { name: "InstallFailure", step: "fetch" }));

  it("is no single file: that is loaded by its path", () =>
    assert.throws(
      () => read("/a/notes.ts"),
      /notes\.ts is a single file, but only packages can be installed[^]*plugins\.load\.paths/,
    ));

  it("is a path only when it is written as one: a directory of the name beside does not count", () => {
    assert.equal(absoluteSpec("notes", "/work"), "notes");
    assert.equal(absoluteSpec("./notes", "/work"), "/work/notes");
    assert.equal(absoluteSpec("../notes.tgz", "/work"), "/notes.tgz");
  });
});
