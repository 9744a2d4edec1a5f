/** The plugin in a real gateway, on the real database. */
import { DatabaseSync } from "@photostructure/sqlite";
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import { sessions, Sessions } from "@svc/sdk/sessions";
import { testGateway } from "@svc/sdk/testing";
import { sessionsUsage } from "@svc/sdk/usage";
import { assistant, user } from "./open-store.ts";

const PLUGINS = ["storage-sqlite", "sessions", "usage", "agents", "chat", "models", "provider-offline"];

/** Gives a test the service. */
function borrower() {
  let lent: Sessions | undefined;
  const plugin = definePlugin({
    id: "borrower",
    api: "^1.0.0",
    requires: { sessions: Sessions },
    setup: ({ services, start }) => start(() => void (lent = services.sessions)),
  });
  return { plugin, service: () => lent ?? assert.fail("the gateway has started") };
}

describe("sessions in a gateway", () => {
  it("patches, compacts, reports usage, and advertises its methods to clients", { timeout: 120_000 }, async (t) => {
    const { plugin, service } = borrower();
    const { client } = await testGateway(t, { plugins: [...PLUGINS, plugin] });
    const { methods } = (client.hello as { features: { methods: readonly string[] } }).features;
    const advertised = methods.filter((method) => method.startsWith("sessions.")).toSorted();
    const names =
      "compact create delete describe list messages.subscribe messages.unsubscribe patch preview reset resolve subscribe unsubscribe usage";
    const expected = names.split(" ").map((name) => `sessions.${name}`);
    assert.deepEqual(advertised, expected);

    const { key, entry } = await client.call(sessions.patch, { key: "Notes", label: "Notes", verboseLevel: "yes" });
    assert.equal(key, "agent:main:notes");
    assert.equal((entry as { verboseLevel?: string }).verboseLevel, "on");
    await assert.rejects(client.call(sessions.patch, { key: "other", label: "Notes" }), { code: "INVALID_REQUEST" });
    const loud = client.call(sessions.patch, { key: "notes", thinkingLevel: "loud" });
    await assert.rejects(loud, { code: "INVALID_REQUEST" });

    const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 };
    const answer = { ...assistant("hello"), usage, timestamp: Date.now() };
    await service().append(key, [user("one"), answer, user("two")]);
    const cut = await client.call(sessions.compact, { key, maxLines: 1 });
    assert.deepEqual([cut.compacted, cut.kept], [true, 1]);
    const { totals } = await client.call(sessionsUsage.report, { key });
    assert.equal(totals.totalTokens, 3);
    assert.equal((await client.call(sessionsUsage.timeseries, { key })).points.length, 1);
    assert.equal((await client.call(sessionsUsage.logs, { key })).logs.length, 1);
    const [row] = (await client.call(sessions.list, { label: "Notes" })).sessions;
    assert.equal(row?.verboseLevel, "on");
  });

  it("serves the rest of a damaged database after a restart", { timeout: 120_000 }, async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-sessions-"));
    const key = "agent:main:main";
    const before = borrower();
    const first = await testGateway(t, { stateDir, plugins: [...PLUGINS, before.plugin] });
    await before.service().append(key, [user("one"), user("two"), user("three")]);
    const { location } = before.service();
    await first.gateway.stop();

    const database = new DatabaseSync(location);
    database.prepare("update transcript set body = substr(body, 1, 20) where seq = 2").run();
    database.close();

    const second = await testGateway(t, { stateDir, plugins: PLUGINS });
    t.after(() => rm(stateDir, { recursive: true, force: true })); // in the order they are given: the gateways stop first
    const { messages } = await second.client.call(chat.history, { sessionKey: key });
    assert.equal(messages.length, 2);
    const { previews } = await second.client.call(sessions.preview, { keys: [key] });
    const [{ status, damaged, items } = assert.fail()] = previews;
    assert.deepEqual([status, damaged, items[0]?.text, items[1]?.text], ["ok", 1, "one", "three"]);
  });

  it("routes by bindings of the configuration, and refuses malformed ones", { timeout: 120_000 }, async (t) => {
    const { plugin, service } = borrower();
    const agents = { list: [{ id: "main" }, { id: "ada" }] };
    const bindings = [{ agentId: "ada", match: { channel: "irc", accountId: "*", peer: { kind: "group", id: "7" } } }];
    await testGateway(t, {
      plugins: [...PLUGINS, plugin],
      config: { agents, bindings, session: { dmScope: "per-peer" } },
    });
    const { sessionKey, matchedBy } = service().route({ channel: "irc", peer: { kind: "group", id: "7" } });
    assert.deepEqual([sessionKey, matchedBy], ["agent:ada:irc:group:7", "binding.peer"]);
    const direct = service().route({ channel: "irc", peer: { kind: "direct", id: "x" } });
    assert.equal(direct.sessionKey, "agent:main:direct:x");
    const malformed = testGateway(t, { plugins: PLUGINS, config: { bindings: [{ agentId: "ada" }] } });
    await assert.rejects(malformed, /^StartupRefusal: .* is not valid:\n +bindings/);
  });

  it("applies the configured visibility, and refuses unknown values", { timeout: 120_000 }, async (t) => {
    const { plugin, service } = borrower();
    const agents = { list: [{ id: "main" }, { id: "ada" }] };
    const tools = { sessions: { visibility: "all" }, agentToAgent: { enabled: true, allow: ["*"] } };
    await testGateway(t, { plugins: [...PLUGINS, plugin], config: { agents, tools } });
    assert.equal(await service().mayTouch("agent:main:main", "agent:ada:main"), true);

    const usual = borrower();
    await testGateway(t, { plugins: [...PLUGINS, usual.plugin], config: { agents } });
    assert.equal(await usual.service().mayTouch("agent:main:main", "agent:main:other"), false);

    const wrong = { sessions: { visibility: "everything" } };
    await assert.rejects(testGateway(t, { plugins: PLUGINS, config: { tools: wrong } }), /tools\.sessions/);
  });
});
