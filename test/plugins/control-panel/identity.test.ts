/** The bootstrap configuration and the pictures of agents. Spec: http/control-panel.md §4 and §6. */
import assert from "node:assert/strict";
import { linkSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { directory, put } from "../../directory.ts";
import { CSP, panelScene, type PanelOptions } from "./scene.ts";

const limited = { timeout: 120_000 };
const AGENTS = ["storage-sqlite", "sessions", "models", "agents"];
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const BOOTSTRAP = "/__svc/control-ui-config.json";

interface Case {
  readonly ui?: object;
  readonly identity?: object;
  /** `IDENTITY.md` of the workspace. */
  readonly file?: string;
  readonly images?: readonly string[];
  readonly base?: string;
}

async function scene(t: TestContext, { ui, identity, file, images = [], base }: Case, more: PanelOptions = {}) {
  const workspace = directory(t);
  if (file !== undefined) put(join(workspace, "IDENTITY.md"), file);
  for (const name of images) put(join(workspace, name), PNG as never); // `writeFileSync` takes bytes
  const list = [{ id: "ada", workspace, ...(identity ? { identity } : {}) }];
  const opened = await panelScene(t, {
    plugins: AGENTS,
    config: { agents: { list }, ...(ui ? { ui: { assistant: ui } } : {}) },
    ...(base === undefined ? {} : { controlUi: { basePath: base } }),
    ...more,
  });
  const json = async (path: string) => JSON.parse((await opened.get(path)).text) as Record<string, unknown>;
  return { ...opened, workspace, json };
}

describe("the bootstrap configuration", limited, () => {
  it("has defaults without the plugin agents", async (t) => {
    const { get } = await panelScene(t);
    const answer = await get(BOOTSTRAP);
    assert.equal(
      answer.text,
      '{"basePath":"","assistantName":"Assistant","assistantAvatar":"A","assistantAgentId":"main"}',
    );
    assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
    assert.deepEqual([answer.headers["cache-control"], answer.headers["content-security-policy"]], ["no-cache", CSP]);
    const head = await get(BOOTSTRAP, { method: "HEAD" });
    assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", String(answer.text.length)]);
  });

  it("has the section ui without the plugin agents, except for paths", async (t) => {
    const shown = async (assistant: object) => {
      const { get } = await panelScene(t, { config: { ui: { assistant } } });
      const { assistantName, assistantAvatar } = JSON.parse((await get(BOOTSTRAP)).text) as Record<string, string>;
      return [assistantName, assistantAvatar];
    };
    assert.deepEqual(await shown({ name: "Ada", avatar: "🦉" }), ["Ada", "🦉"]);
    assert.deepEqual(await shown({ avatar: "images/a.png" }), ["Assistant", "A"]);
  });

  const DATA = `data:image/png;base64,${"A".repeat(100)}`;
  const rows: [what: string, given: Case, name: string, avatar: string][] = [
    ["the default", {}, "Assistant", "A"],
    ["the name of the section ui first", { ui: { name: "U" }, identity: { name: "I" }, file: "- Name: F" }, "U", "A"],
    ["then that of the identity", { identity: { name: "I" }, file: "- Name: F" }, "I", "A"],
    ["then that of the file", { file: "- Name: F" }, "F", "A"],
    [
      "the picture of the section ui first",
      { ui: { avatar: "U" }, identity: { avatar: "I", emoji: "🦊" }, file: "- Avatar: F" },
      "Assistant",
      "U",
    ],
    [
      "then the avatar of the identity",
      { identity: { avatar: "I", emoji: "🦊" }, file: "- Avatar: F" },
      "Assistant",
      "I",
    ],
    ["then its emoji", { identity: { emoji: "🦊" }, file: "- Avatar: F\n- Emoji: 🦉" }, "Assistant", "🦊"],
    ["then the avatar of the file", { file: "- Avatar: F\n- Emoji: 🦉" }, "Assistant", "F"],
    ["then its emoji", { file: "- Emoji: 🦉" }, "Assistant", "🦉"],
    ["what is not acceptable is skipped", { ui: { avatar: "too long" }, identity: { avatar: "I" } }, "Assistant", "I"],
    ["a URL is passed through", { identity: { avatar: "https://x.test/a" } }, "Assistant", "https://x.test/a"],
    ["an image as data is passed through", { ui: { avatar: DATA } }, "Assistant", DATA],
    ["no script", { identity: { avatar: "javascript:alert(1)" }, file: "- Avatar: F" }, "Assistant", "F"],
    ["an image of the workspace", { identity: { avatar: "a/b.png" }, images: ["a/b.png"] }, "Assistant", "/avatar/ada"],
    [
      "its address begins with the base path",
      { ui: { avatar: "./b.svg" }, images: ["b.svg"], base: "/panel/" },
      "Assistant",
      "/panel/avatar/ada",
    ],
    ["no image that is missing", { identity: { avatar: "a/b.png", emoji: "🦊" } }, "Assistant", "🦊"],
    ["at most 50 characters of a name", { file: `- Name: ${"n".repeat(60)}` }, "n".repeat(50), "A"],
  ];
  for (const [what, given, name, avatar] of rows) {
    it(`shows ${what}: ${name.slice(0, 10)}, ${avatar.slice(0, 20)}`, async (t) => {
      const { json } = await scene(t, given);
      const basePath = given.base === undefined ? "" : "/panel";
      const expected = { basePath, assistantName: name, assistantAvatar: avatar, assistantAgentId: "ada" };
      assert.deepEqual(await json(`${basePath}${BOOTSTRAP}`), expected);
    });
  }

  it("agrees with agent.identity.get", async (t) => {
    const { json, client } = await scene(t, { file: "- Name: F\n- Avatar: b.webp", images: ["b.webp"], base: "/p" });
    const { assistantName, assistantAvatar } = await json(`/p${BOOTSTRAP}`);
    const { name, avatar } = await client.call(agents.identity, {});
    assert.deepEqual([assistantName, assistantAvatar], [name, avatar]);
    assert.equal(avatar, "/p/avatar/ada");
  });
});

describe("the picture of an agent", limited, () => {
  const TYPES: [extension: string, type: string][] = [
    ["png", "image/png"],
    ["jpg", "image/jpeg"],
    ["jpeg", "image/jpeg"],
    ["gif", "image/gif"],
    ["webp", "image/webp"],
    ["PNG", "image/png"],
  ];
  for (const [extension, type] of TYPES) {
    it(`is served as ${type} for .${extension}`, async (t) => {
      const { get, json } = await scene(t, { identity: { avatar: `a.${extension}` }, images: [`a.${extension}`] });
      const answer = await get("/avatar/ada");
      assert.deepEqual([answer.status, answer.headers["content-type"], answer.bytes], [200, type, PNG]);
      assert.deepEqual([answer.headers["content-security-policy"], answer.headers["cache-control"]], [CSP, "no-cache"]);
      const head = await get("/avatar/ADA", { method: "HEAD" });
      assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", String(PNG.length)]);
      const again = await get("/avatar/ada", { headers: { "if-none-match": answer.headers.etag ?? "" } });
      assert.equal(again.status, 304);
      assert.deepEqual(await json("/avatar/ada?meta=1"), { avatarUrl: "/avatar/ada" });
    });
  }

  it("as SVG cannot run scripts, not even opened by itself", async (t) => {
    const { get } = await scene(t, { file: "- Avatar: a.svg", images: ["a.svg"] });
    const { headers } = await get("/avatar/ada");
    assert.equal(headers["content-type"], "image/svg+xml");
    assert.equal(headers["content-security-policy"], `${CSP}; sandbox`);
  });

  const none: [what: string, given: Case][] = [
    ["no picture", {}],
    ["an emoji", { identity: { avatar: "🦊" } }],
    ["a missing file", { identity: { avatar: "a.png" } }],
    ["another type", { identity: { avatar: "dir/a.txt" }, images: ["dir/a.txt"] }],
    ["a path outside of the workspace", { identity: { avatar: "../a.png" } }],
    ["an absolute path", { identity: { avatar: "/etc/hosts.png" } }],
  ];
  for (const [what, given] of none) {
    it(`is 404 for ${what}, and meta is null`, async (t) => {
      const { get, json } = await scene(t, given);
      const answer = await get("/avatar/ada");
      assert.deepEqual([answer.status, answer.text], [404, "Not Found"]);
      assert.equal(answer.headers["content-security-policy"], CSP);
      assert.deepEqual(await json("/avatar/ada?meta=1"), { avatarUrl: null });
    });
  }

  for (const url of ["https://x.test/a.png", "data:image/png;base64,AAAA"]) {
    it(`is 404 for ${url.slice(0, 10)}, and meta has the address`, async (t) => {
      const { get, json } = await scene(t, { identity: { avatar: url } });
      assert.equal((await get("/avatar/ada")).status, 404);
      assert.deepEqual(await json("/avatar/ada?meta=1"), { avatarUrl: url });
    });
  }

  it("is inside the workspace, a plain file, and not too large", async (t) => {
    const outside = directory(t);
    put(join(outside, "secret.png"), "secret");
    put(join(outside, "dir/secret.png"), "secret");
    const { get, json, workspace } = await scene(t, { file: "- Avatar: a/b.png", images: ["a/b.png", "plain.png"] });
    const point = (avatar: string) => put(join(workspace, "IDENTITY.md"), `- Avatar: ${avatar}`);
    symlinkSync(join(outside, "secret.png"), join(workspace, "link.png"));
    symlinkSync("plain.png", join(workspace, "inner.png"));
    symlinkSync(join(outside, "dir"), join(workspace, "dir"));
    linkSync(join(outside, "secret.png"), join(workspace, "hard.png"));
    writeFileSync(join(workspace, "large.png"), PNG);
    truncateSync(join(workspace, "large.png"), 2_097_153);
    for (const avatar of ["link.png", "inner.png", "dir/secret.png", "hard.png", "large.png", "a/../../x.png"]) {
      point(avatar);
      assert.equal((await get("/avatar/ada")).status, 404, avatar);
      assert.deepEqual(await json("/avatar/ada?meta=1"), { avatarUrl: null }, avatar);
    }
    truncateSync(join(workspace, "large.png"), 2_097_152);
    point("large.png");
    assert.equal((await get("/avatar/ada")).bytes.length, 2_097_152);
  });

  it("of an unknown agent is none; ids of another form are 404", async (t) => {
    const { get, json } = await scene(t, { identity: { avatar: "a.png" }, images: ["a.png"] });
    assert.equal((await get("/avatar/ghost")).status, 404);
    assert.deepEqual(await json("/avatar/ghost?meta=1"), { avatarUrl: null });
    for (const id of ["a.b", "a/b", "-a", "", "a".repeat(65), "%C3%A9", "a%20b"]) {
      assert.equal((await get(`/avatar/${id}?meta=1`)).status, 404, id);
    }
    assert.deepEqual(await json(`/avatar/${"a".repeat(64)}?meta=1`), { avatarUrl: null });
    assert.equal((await get("/avatar/ada?meta=0")).status, 200, "only meta=1 asks for the address");
  });

  it("of the default agent is that of the section ui, if that is a path", async (t) => {
    const { get, json } = await scene(t, {
      ui: { avatar: "ui.gif" },
      identity: { avatar: "a.png" },
      images: ["a.png", "ui.gif"],
    });
    assert.equal((await get("/avatar/ada")).headers["content-type"], "image/gif");
    assert.equal((await json(BOOTSTRAP))["assistantAvatar"], "/avatar/ada");
  });

  it("is none without the plugin agents", async (t) => {
    const { get } = await panelScene(t);
    assert.equal((await get("/avatar/main")).status, 404);
    assert.equal((await get("/avatar/main?meta=1")).text, '{"avatarUrl":null}');
  });

  it("is only served below the base path", async (t) => {
    const { get } = await scene(t, { identity: { avatar: "a.png" }, images: ["a.png"], base: "/p" });
    assert.equal((await get("/p/avatar/ada")).status, 200);
    assert.equal((await get("/avatar/ada")).status, 404);
  });
});
