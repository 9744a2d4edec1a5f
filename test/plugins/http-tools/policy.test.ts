/** Which tools `/tools/invoke` reaches, by the configuration as it is at the moment. Spec: http/tools-invoke.md §5 to §7. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gone, type Scene, start } from "./scene.ts";

/** Whether each of these can be called, told by a dry run: as text, so that rows are short. */
async function reached(scene: Scene, tools: string, sessionKey?: string, headers?: Record<string, string>) {
  const names = tools.split(" ");
  const answers = await Promise.all(
    names.map((tool) => scene.invoke({ tool, sessionKey, dryRun: true, args: { action: "x" } }, headers)),
  );
  return names
    .filter((name, index) => {
      const { status, body } = answers[index] ?? assert.fail();
      if (status === 404) assert.deepEqual(body, gone(name));
      return status !== 404;
    })
    .join(" ");
}

describe("the tools of /tools/invoke", () => {
  it("are those that need no run and are not denied here", async (t) => {
    const scene = await start(t);
    const there = "message web_search session_status sessions_list memory_get echo owners";
    const absent = "exec read image in_run cron gateway sessions_send sessions_spawn rare whatsapp_login Echo bash";
    assert.equal(await reached(scene, `${there} ${absent}`), there);
  });

  it("follow every level of the configuration, at once", async (t) => {
    const scene = await start(t);
    const { edit, shed } = scene;
    const all = "message web_search cron echo rare exec";
    const now = () => reached(scene, all);
    assert.equal(await now(), "message web_search echo");

    await edit({ "gateway.tools": { allow: ["cron", "exec"], deny: ["echo"] } });
    assert.equal(await now(), "message web_search cron");
    await edit({ "tools.deny": ["group:web"] });
    assert.equal(await now(), "message cron");
    await edit({ "tools.profile": "minimal", "tools.alsoAllow": ["cron", "rare"] });
    assert.equal(await now(), "cron rare");
    await edit({ "tools.profile": "full", "tools.alsoAllow": [], "tools.allow": ["group:automation", "message"] });
    assert.equal(await now(), "message cron");
    shed.agents.set("main", { deny: ["message"] });
    assert.equal(await now(), "cron");
    assert.deepEqual(
      scene.gateway.plugins().filter(({ generation }) => generation !== 1),
      [],
      "nobody was reloaded",
    );
  });

  it("do not depend on a provider, since none is known", async (t) => {
    const scene = await start(t, { tools: { byProvider: { openai: { deny: ["*"], profile: "minimal" } } } });
    assert.equal(await reached(scene, "echo message"), "echo message");
  });

  it("are those of the agent and the group the session belongs to", async (t) => {
    const scene = await start(t, { tools: { subagents: { tools: { alsoAllow: ["memory_get"], deny: ["echo"] } } } });
    const { shed } = scene;
    shed.agents.set("ada", { allow: ["echo", "memory_get", "sessions_list"] });
    shed.groups = { "irc - #team": { deny: ["echo"] }, "slack work #team": { deny: ["memory_get"] } };
    const all = "echo memory_get sessions_list session_status";
    const rows: readonly (readonly [sessionKey: string, left: string, headers?: Record<string, string>])[] = [
      ["main", all],
      ["agent:ada:main", "echo memory_get sessions_list"],
      ["agent:main:irc:group:#team", "memory_get sessions_list session_status"],
      ["agent:main:irc:group:#team:topic:7", "memory_get sessions_list session_status"],
      ["agent:main:irc:group:#team", "memory_get sessions_list session_status", { "x-svc-message-channel": "slack" }],
      ["agent:main:slack:channel:#team", "echo sessions_list session_status", { "x-svc-account-id": "work" }],
      ["agent:main:subagent:1", "memory_get"],
    ];
    for (const [sessionKey, left, headers] of rows)
      assert.equal(await reached(scene, all, sessionKey, headers), left, sessionKey);
  });
});
