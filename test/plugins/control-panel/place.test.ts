/** What a path names in the control panel. Spec: http/control-panel.md §1 and §3. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { panelBasePath } from "@svc/sdk/gateway";
import { withBase } from "../../../plugins/control-panel/index-page.ts";
import { acceptsPage, isAsset, type Target, targetOf } from "../../../plugins/control-panel/place.ts";

const gone: Target = { kind: "gone" };
const outside: Target = { kind: "outside" };
const file = (name: string): Target => ({ kind: "file", name });

describe("a path of the control panel", () => {
  const rows: [path: string, base: string, target: Target][] = [
    ["/", "", file("index.html")],
    ["/panel", "/panel", { kind: "slash" }],
    ["/panel/", "/panel", file("index.html")],
    ["/panel/sessions", "/panel", file("sessions")],
    ["/panelist", "/panel", outside],
    ["/", "/panel", outside],
    ["/avatar/main", "/panel", outside],
    ["/ui", "/panel", outside],
    ["/ui", "", gone],
    ["/ui/", "", gone],
    ["/ui/x.js", "", gone],
    ["/uix", "", file("uix")],
    ["/api", "", outside],
    ["/api/x", "", outside],
    ["/apis", "", file("apis")],
    ["/plugins", "", outside],
    ["/plugins/x/y", "", outside],
    ["/ui/api/x", "/ui", file("api/x")],
    ["/ui/plugins", "/ui", file("plugins")],
    ["/__svc/control-ui-config.json", "", { kind: "bootstrap" }],
    ["/control-ui-config.json", "", { kind: "bootstrap" }],
    ["/a/b/control-ui-config.json", "/a/b", { kind: "bootstrap" }],
    ["/x/control-ui-config.json", "", file("x/control-ui-config.json")],
    ["/a/b/__svc/control-ui-config.json", "/a/b", { kind: "bootstrap" }],
    ["/x/__svc/control-ui-config.json", "", file("x/__svc/control-ui-config.json")],
    ["/__svc/bridge.js", "", file("__svc/bridge.js")],
    ["/avatar/main", "", { kind: "avatar", agentId: "main" }],
    ["/avatar/A_b-9", "", { kind: "avatar", agentId: "A_b-9" }],
    [`/avatar/${"a".repeat(64)}`, "", { kind: "avatar", agentId: "a".repeat(64) }],
    [`/avatar/${"a".repeat(65)}`, "", gone],
    ["/avatar/", "", gone],
    ["/avatar/_a", "", gone],
    ["/avatar/a.b", "", gone],
    ["/avatar/a/b", "", gone],
    ["/avatar/é", "", gone],
    ["/avatar", "", file("avatar")],
    ["/__svc/pages/greet", "", { kind: "slash" }],
    ["/__svc/pages/greet/", "", { kind: "page", id: "greet", file: "index.html" }],
    ["/__svc/pages/greet/a/b.js", "", { kind: "page", id: "greet", file: "a/b.js" }],
    ["/__svc/pages/greet/a/", "", gone],
    ["/__svc/pages/greet/../x", "", gone],
    ["/__svc/pages/Greet/", "", gone],
    ["/__svc/pages/-x/", "", gone],
    [`/__svc/pages/${"a".repeat(65)}/`, "", gone],
    ["/__svc/pages/", "", gone],
    ["/assets/main.js", "", file("assets/main.js")],
    ["/sessions/x/assets/main.js", "", file("assets/main.js")],
    ["/a/assets/b/assets/c.js", "", file("assets/b/assets/c.js")],
    ["/panel/x/assets/main.js", "/panel", file("assets/main.js")],
    ["/assets", "", file("assets")],
    ["/sub/", "", file("sub/index.html")],
    ["/..", "", gone],
    ["/a/../b", "", gone],
    ["/x/assets/../../y", "", gone],
    ["/./a", "", gone],
    ["//etc/passwd", "", gone],
    ["/a//b", "", gone],
    ["/a\0.js", "", gone],
    ["/a\\b", "", gone],
    ["/C:/windows", "", gone],
    ["/.env", "", gone],
    ["/a/.git/config", "", gone],
  ];
  for (const [path, base, target] of rows) {
    it(`${JSON.stringify(path.slice(0, 40))} below "${base}" is ${JSON.stringify(target).slice(0, 60)}`, () =>
      assert.deepEqual(targetOf(path, base), target));
  }
});

it("a base path has one form", () => {
  const rows = { "": "", " ": "", "/": "", panel: "/panel", "/panel/": "/panel", " /a/b ": "/a/b", "a/": "/a" };
  for (const [basePath, form] of Object.entries(rows)) assert.equal(panelBasePath({ basePath }), form, basePath);
});

it("known extensions are files, all others are addresses of the client", () => {
  for (const extension of "js css json map svg png jpg jpeg gif webp ico txt JS".split(" ")) {
    assert.ok(isAsset(`a/b.${extension}`), extension);
  }
  for (const name of ["a", "a.html", "a.js/b", "agent:main:a.b", "a.woff2", "js"]) assert.ok(!isAsset(name), name);
});

it("a page is an answer for clients that accept HTML or anything", () => {
  const rows: [string | undefined, boolean][] = [
    [undefined, true],
    ["", true],
    ["*/*", true],
    ["text/html,application/xhtml+xml", true],
    ["application/json, text/*;q=0.5", true],
    ["TEXT/HTML", true],
    ["application/json", false],
    ["application/json, text/html;q=0", false],
    ["application/json, */*;q=0.0", false],
    ["text/plain", false],
  ];
  for (const [accept, accepted] of rows) assert.equal(acceptsPage(accept), accepted, accept);
});

it("addresses of the page begin with the base path, quoted for HTML", () => {
  const html = `<a href="./x" src='./y' data-src="./z"><b title="src=./w">src="./not"`;
  assert.equal(withBase(html, ""), `<a href="/x" src='/y' data-src="./z"><b title="src=./w">src="./not"`);
  assert.equal(withBase('<a href="./x">', `/a"'<&`), '<a href="/a&quot;&#39;&lt;&amp;/x">');
  assert.equal(withBase('<a href="./x">', "/$1$&"), '<a href="/$1$&amp;/x">');
});

it("names the bootstrap configuration by the aliases of the gateway, too", () => {
  const path = "/__acme/control-ui-config.json";
  assert.deepEqual(targetOf(path, "", ["acme"]), { kind: "bootstrap" });
  assert.deepEqual(targetOf(path, "", ["other"]), { kind: "file", name: path.slice(1) });
});
