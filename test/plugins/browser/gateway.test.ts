/** The browser in a gateway: its method, its tool, its commands, and a change of its configuration. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { defineContract, notFound, Type } from "@svc/sdk";
import { browser } from "@svc/sdk/browser";
import { textOf } from "@svc/sdk/models";
import { type CommandRunOptions, runCommand, testGateway } from "@svc/sdk/testing";
import { Tool, type ToolResult } from "@svc/sdk/tools";
import commands from "../../../plugins/browser/cli.ts";
import { pluginOf } from "../../plugin-of.ts";
import { listen } from "../outbound/scene.ts";
import { type Loose, NO_CHROMIUM } from "./scene.ts";

const hands = defineContract("hands", {
  use: { summary: "-", scope: "operator.write", params: Type.Object({ args: Type.Unknown() }), result: Type.Unknown() },
  list: { summary: "-", scope: "operator.read", params: Type.Object({}), result: Type.Unknown() },
});

/** Owns the extension point of tools in place of its plugin. */
const handsPlugin = pluginOf("hands", (gateway) => {
  const tools = gateway.own(Tool);
  gateway.serve(hands, {
    async use({ params: { args }, principal, signal }) {
      const tool = tools.get("browser")?.value ?? notFound("browser");
      const call = {
        name: "browser",
        arguments: args as {},
        toolCallId: "c",
        runId: "r",
        sessionKey: "agent:main:main",
        agentId: "main",
      };
      return (await tool.run(args, { call, principal, signal })) as ToolResult;
    },
    list: () => tools.list().map(({ id }) => id),
  });
});

const SECTION = { noSandbox: true, headless: true, ssrfPolicy: { allowPrivateNetwork: true } };

async function start(t: TestContext, section: object = SECTION) {
  const plugins = ["browser", handsPlugin];
  return testGateway(t, { plugins, config: { browser: section } });
}

describe("the browser in a gateway", () => {
  it("refuses unknown routes and bodies, with the body of the route as details", async (t) => {
    const { client } = await start(t);
    const message = /there is no route GET \/nowhere/;
    await assert.rejects(client.call(browser.request, { method: "GET", path: "/nowhere" }), (error: Loose) => {
      assert.equal(error.code, "INVALID_REQUEST");
      assert.match(error.message, message);
      assert.deepEqual(error.details, { error: error.message });
      return true;
    });
    const wrong = client.call(browser.request, { method: "POST", path: "/navigate", body: { adress: "x" } });
    await assert.rejects(wrong, { code: "INVALID_REQUEST", message: /unexpected property 'adress'/ });
    const list = client.call(browser.request, { method: "POST", path: "/navigate", body: [] });
    await assert.rejects(list, { code: "INVALID_REQUEST", message: /body must be an object/ });
  });

  it("has no tool while it is disabled", async (t) => {
    const { client } = await start(t, { enabled: false });
    assert.deepEqual(await client.call(hands.list, {}), []);
    await assert.rejects(client.call(browser.request, { method: "GET", path: "/" }), { code: "UNAVAILABLE" });
  });

  const refused: [why: string, section: object, message: RegExp][] = [
    ["a switch around the proxy", { extraArgs: ["--proxy-server=x"] }, /extraArgs/],
    ["a switch that opens a port", { extraArgs: ["--remote-debugging-port=1"] }, /extraArgs/],
    ["a switch that starts programs", { extraArgs: ["--renderer-cmd-prefix=sh"] }, /extraArgs/],
    ["an argument that is no switch", { extraArgs: ["http://x"] }, /extraArgs/],
    ["a profile that is a path", { profiles: { "../x": {} } }, /profiles/],
    ["an unknown key", { headles: true }, /headles/],
    ["a color that is none", { color: "red" }, /color/],
    ["an address of another kind", { cdpUrl: "file:///x" }, /cdpUrl/],
  ];
  for (const [why, section, message] of refused)
    it(`does not start with ${why}`, (t) => assert.rejects(start(t, section), message));

  it("starts with the keys of existing configurations", async (t) => {
    const section = {
      cdpPortRangeStart: 18_800,
      color: "#FF4500",
      extraArgs: ["--lang=de"],
      snapshotDefaults: { mode: "efficient" },
      defaultProfile: "work",
    };
    const { client } = await start(t, section);
    const { profiles } = (await client.call(browser.request, { method: "GET", path: "/profiles" })) as Loose;
    assert.deepEqual(profiles, [
      { name: "work", isDefault: true, isRemote: false, running: false, tabs: 0, color: "#FF4500" },
    ]);
  });
});

describe("agents and people", { skip: NO_CHROMIUM }, () => {
  it("use the same browser", async (t) => {
    const pages = createServer((_, response) =>
      response.setHeader("content-type", "text/html").end("<title>Hi</title><button>Go</button>"),
    );
    const url = `http://127.0.0.1:${await listen(t, pages)}/`;
    const { client, connect } = await start(t);
    const use = (args: object) => client.request("hands.use", { args }) as Promise<ToolResult>;
    const svc = (name: string, given: CommandRunOptions = {}) =>
      runCommand(commands, `browser ${name}`, { connect: () => connect(), ...given });

    assert.equal((await svc("tabs")).text, "No browser runs; svc browser open <url> starts it.");
    const opened = await use({ action: "open", url });
    assert.equal((opened.details as Loose).title, "Hi");
    assert.match(textOf(opened), /EXTERNAL_UNTRUSTED_CONTENT/);
    assert.match(textOf(await use({ action: "snapshot" })), /button "Go" \[ref=e\d+\]/);
    assert.equal((await use({ action: "screenshot" })).content[1]?.type, "image");

    assert.match((await svc("status")).text, /^running +true$/m);
    assert.match((await svc("open", { args: [url] })).text, /^title +Hi$/m);
    const { text } = await svc("tabs");
    assert.equal(text.split("\n").filter((line) => line.includes(url)).length, 2);
    assert.match((await svc("snapshot", { options: { interactive: true } })).text, /^Hi \(http.*\n- button "Go"/);
    const directory = await mkdtemp(join(tmpdir(), "svc-browser-cli-"));
    t.after(() => rm(directory, { recursive: true }));
    const out = join(directory, "page.png");
    assert.match((await svc("screenshot", { options: { out } })).text, /page\.png/);
    assert.equal((await readFile(out)).subarray(1, 4).toString(), "PNG");
    const wrong = await svc("open", { args: ["file:///etc/passwd"] });
    assert.deepEqual([wrong.code, /http: and https: only/.test(wrong.message)], [1, true]);
    assert.equal((await svc("stop")).text, "The browser is stopped.");
  });
});
