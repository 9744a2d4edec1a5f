import assert from "node:assert/strict";
import { link, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import { agents as contract } from "@svc/sdk/agents";
import { publishedViolations } from "../../../published.ts";
import { openAdmin } from "./admin-fixture.ts";

const png = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");
const dataUrl = `data:image/png;base64,${png.toString("base64")}`;

describe("agents.list", () => {
  it("shows the configured agents, the default one first, each with how it presents itself", async (t) => {
    const list = [
      { id: "zoe" },
      { id: "ada", name: "Ada", identity: { emoji: "🦉", avatar: "a.png" } },
      { id: "ops", default: true },
    ];
    const gateway = await openAdmin(t, { file: { agents: { list } } });
    await gateway.put(join(gateway.stateDir, "workspace-ada", "a.png"), png);
    await gateway.put(
      join(gateway.stateDir, "workspace-zoe", "IDENTITY.md"),
      "- Name: Zoe\n- Theme: calm\n- Avatar: https://x.test/z\n",
    );
    const shown = await gateway.list();
    const named = { ...shown, agents: shown.agents.map(({ id, name, identity }) => ({ id, name, identity })) };
    assert.deepEqual(JSON.parse(JSON.stringify(named)), {
      defaultId: "ops",
      mainKey: "main",
      scope: "per-sender",
      agents: [
        { id: "ops" },
        { id: "ada", name: "Ada", identity: { emoji: "🦉", avatar: "a.png", avatarUrl: dataUrl } },
        {
          id: "zoe",
          identity: { name: "Zoe", theme: "calm", avatar: "https://x.test/z", avatarUrl: "https://x.test/z" },
        },
      ],
    });
    assert.ok(matches(contract.list.result, shown));
  });

  it("shows the workspace, the models and the thinking level that a new conversation starts with", async (t) => {
    const list = [
      { id: "main", model: { primary: "p/two", fallbacks: ["p/none", "p/three"] } },
      { id: "ada", workspace: "~/ada" },
      { id: "none", model: "p/none" },
    ];
    const gateway = await openAdmin(t, { file: { agents: { list, defaults: { thinkingDefault: "xhigh" } } } });
    const shown = await gateway.list();
    assert.deepEqual(publishedViolations("AgentsListResult", shown), []);
    const [main, ada, none] = shown.agents;
    assert.deepEqual([main?.kind, main?.model], ["agent", { primary: "p/two", fallbacks: ["p/three"] }]);
    assert.deepEqual([main?.thinkingLevels?.length, main?.thinkingDefault], [6, "high"], "the model has no xhigh");
    assert.deepEqual([ada?.workspace, ada?.model], [gateway.at("ada"), { primary: "p/one" }]);
    assert.deepEqual([none?.id, none?.model, none?.thinkingLevels], ["none", undefined, undefined]);
  });

  it("shows the built-in agent and directories on disk without a list, and writes nothing", async (t) => {
    const gateway = await openAdmin(t);
    for (const name of ["zoe", "ada", "main", "Not An Id"])
      await mkdir(join(gateway.stateDir, "agents", name), { recursive: true });
    await gateway.put(join(gateway.stateDir, "agents", "file"), "x");
    const before = await readdir(gateway.stateDir);
    const rows = (await gateway.list()).agents;
    assert.deepEqual(rows.map(({ id }) => id), ["main", "ada", "zoe"]); // prettier-ignore
    assert.deepEqual(await readdir(gateway.stateDir), before);
  });

  it("shows only configured agents with a list", async (t) => {
    const gateway = await openAdmin(t, { file: { agents: { list: [{ id: "ops" }] } } });
    await mkdir(join(gateway.stateDir, "agents", "ada"), { recursive: true });
    assert.deepEqual((await gateway.list()).agents.map(({ id }) => id), ["ops"]); // prettier-ignore
  });

  it("is not stopped by files that may not be read", async (t) => {
    const gateway = await openAdmin(t);
    await gateway.put(join(gateway.stateDir, "secret.md"), "- Name: secret\n");
    await mkdir(join(gateway.stateDir, "workspace"));
    await link(join(gateway.stateDir, "secret.md"), join(gateway.stateDir, "workspace", "IDENTITY.md"));
    assert.deepEqual((await gateway.list()).agents.map(({ id, identity }) => [id, identity]), [["main", undefined]]); // prettier-ignore
  });

  it("carries at most 4 MiB of images", async (t) => {
    const list = Array.from({ length: 20 }, (_, n) => ({ id: `a${n}`, identity: { avatar: "a.png" } }));
    const gateway = await openAdmin(t, { file: { agents: { list } } });
    const image = Buffer.concat([png, Buffer.alloc(250 * 1024)]);
    for (const { workspace } of gateway.live.list()) await gateway.put(join(workspace, "a.png"), image);
    const rows = (await gateway.list()).agents;
    assert.equal(rows.length, 20);
    assert.equal(rows.filter(({ identity }) => identity?.avatarUrl !== undefined).length, 12);
  });
});

describe("agent.identity.get", () => {
  const list = [{ id: "main" }, { id: "ada", identity: { name: "Ada", emoji: "🦉" } }];

  const asked: [string, object, string][] = [
    ["the default agent for nothing", {}, "main"],
    ["the agent with the id", { agentId: "ADA" }, "ada"],
    ["the agent of the session", { sessionKey: "agent:ada:trip" }, "ada"],
    ["the default agent for a bare key", { sessionKey: "trip" }, "main"],
    ["the agent both name", { agentId: "ada", sessionKey: "agent:ada:trip" }, "ada"],
    ["the default agent for a blank key", { sessionKey: " " }, "main"],
  ];
  for (const [what, params, agentId] of asked) {
    it(`shows ${what}`, async (t) => {
      const gateway = await openAdmin(t, { file: { agents: { list } } });
      const identity = await gateway.identity(params);
      assert.equal(identity.agentId, agentId);
      assert.ok(matches(contract.identity.result, identity));
    });
  }

  const refused: [string, object, string][] = [
    ["an agent nobody configured", { agentId: "ghost" }, "NOT_FOUND"],
    ["a session of such an agent", { sessionKey: "agent:ghost:main" }, "NOT_FOUND"],
    ["a malformed key", { sessionKey: "agent:main" }, "INVALID_REQUEST"],
    ["a malformed key beside an agent", { agentId: "ada", sessionKey: "agent::" }, "INVALID_REQUEST"],
    ["an agent id without letters", { agentId: "!!" }, "NOT_FOUND"],
    ["a session of another agent", { agentId: "main", sessionKey: "agent:ada:trip" }, "INVALID_REQUEST"],
  ];
  for (const [what, params, code] of refused) {
    it(`refuses ${what} with ${code}`, async (t) => {
      const gateway = await openAdmin(t, { file: { agents: { list } } });
      await assert.rejects(gateway.identity(params), { code });
    });
  }

  it("reads the workspace, and gives an image its address", async (t) => {
    const gateway = await openAdmin(t);
    const workspace = join(gateway.stateDir, "workspace");
    await gateway.put(join(workspace, "IDENTITY.md"), "- Name: Ada\n- Avatar: a.png\n- Emoji: 🦉\n");
    const withoutImage = { agentId: "main", name: "Ada", avatar: "🦉", emoji: "🦉" };
    assert.deepEqual(await gateway.identity({}), withoutImage);
    await gateway.put(join(workspace, "a.png"), png);
    assert.deepEqual(await gateway.identity({}), { ...withoutImage, avatar: "/avatar/main" });
  });
});

describe("agents.files", () => {
  it("are those of the agent's own workspace", async (t) => {
    const gateway = await openAdmin(t, { file: { agents: { list: [{ id: "main" }, { id: "ada" }] } } });
    const workspace = join(gateway.stateDir, "workspace-ada");
    const set = await gateway.filesSet("Ada", "SOUL.md", "kind");
    assert.deepEqual([set.ok, set.agentId, set.workspace, set.file.content], [true, "ada", workspace, "kind"]);
    assert.ok(matches(contract.filesSet.result, set));
    const got = await gateway.filesGet("ada", "SOUL.md");
    assert.deepEqual(got, { agentId: "ada", workspace, file: set.file });
    assert.ok(matches(contract.filesGet.result, got));
    const listed = await gateway.filesList("ada");
    assert.deepEqual([listed.agentId, listed.workspace], ["ada", workspace]);
    assert.ok(matches(contract.filesList.result, listed));
    assert.equal((await gateway.filesGet("main", "SOUL.md")).file.missing, true);
  });

  for (const agentId of ["ghost", "../ada", "..", " ", "!!!"]) {
    it(`of the agent "${agentId}" are nobody's`, async (t) => {
      const gateway = await openAdmin(t);
      const refusal = { code: "NOT_FOUND", message: /agents\.list/ };
      await assert.rejects(gateway.filesList(agentId), refusal);
      await assert.rejects(gateway.filesGet(agentId, "SOUL.md"), refusal);
      await assert.rejects(gateway.filesSet(agentId, "SOUL.md", "x"), refusal);
      assert.deepEqual(await readdir(gateway.stateDir), ["svc.json"]);
    });
  }

  it("may lie where an operator's link leads", async (t) => {
    const gateway = await openAdmin(t);
    await mkdir(gateway.at("real"));
    await symlink(gateway.at("real"), join(gateway.stateDir, "workspace"));
    await gateway.filesSet("main", "USER.md", "Ada");
    assert.ok((await readdir(gateway.at("real"))).includes("USER.md"));
  });
});
