/** Which mapping accepts a request, the fields it renders, and the policies that apply to them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { webhookGateway } from "./webhook-gateway.ts";

const body = async (response: Response) => (await response.json()) as { ok: boolean; error?: string; runId: string };

describe("mappings", () => {
  it("the first that matches by path, source, headers and payload is used", async (t) => {
    const mappings = [
      { id: "off", enabled: false, match: { path: "in" }, action: "note", textTemplate: "off" },
      { id: "source", match: { path: "/in/", source: "ci" }, action: "note", textTemplate: "source" },
      {
        id: "headers",
        match: { path: "in", headers: { "X-Event": ["push", "tag"] } },
        action: "note",
        textTemplate: "headers",
      },
      { id: "when", match: { path: "in", when: { "pr.draft": false } }, action: "note", textTemplate: "when" },
      { id: "rest", match: { path: "in" }, action: "note", textTemplate: "rest {{pr.title}}" },
      { id: "all", action: "note", textTemplate: "all {{path}}" },
    ];
    const { post, notes, service } = await webhookGateway(t, { hooks: { mappings } });
    const cases: [path: string, payload: unknown, headers: Record<string, string>, id: string][] = [
      ["in", { source: "ci" }, {}, "source"],
      ["in/", { source: "ci" }, {}, "source"],
      ["in", { source: ["ci"] }, { "x-event": "tag" }, "headers"],
      ["in", { pr: { draft: false } }, { "x-event": "other" }, "when"],
      ["in", { pr: { draft: true, title: "T" } }, {}, "rest"],
      ["elsewhere/deep", {}, {}, "all"],
    ];
    for (const [path, payload, headers, id] of cases) {
      assert.equal((await post(path, payload, headers)).status, 200, id);
      assert.equal(notes.at(-1)?.mapping, id);
    }
    assert.match(String(notes.at(-1)?.params["text"]), /all elsewhere\/deep/);
    assert.deepEqual(
      service?.list().map(({ id }) => id),
      ["note", "task", "off", "source", "headers", "when", "rest", "all"],
    );
  });

  it("render no values from prototypes, and an empty text is refused", async (t) => {
    const places = [
      "__proto__.x",
      "constructor.name",
      "a.__proto__",
      "a.constructor.prototype",
      "toString",
      "a.length",
      "list.length",
      "list.constructor",
    ];
    const mappings = places.map((place, index) => ({
      match: { path: `p${index}` },
      action: "note",
      textTemplate: `{{${place}}}`,
    }));
    const { post } = await webhookGateway(t, { hooks: { mappings } });
    for (const [index, place] of places.entries()) {
      const response = await post(`p${index}`, '{"a":{"b":"text"},"list":[1],"__proto__":{"x":"polluted"}}');
      assert.equal(response.status, 400, place);
    }
    assert.equal(({} as Record<string, unknown>)["x"], undefined);
  });

  it("apply the session-key and agent policies to rendered values", async (t) => {
    const mappings = [
      { match: { path: "key" }, messageTemplate: "m", sessionKey: "{{key}}" },
      { match: { path: "agent" }, messageTemplate: "m", agentId: "other" },
    ];
    const hooks = { mappings, allowedSessionKeyPrefixes: ["hook:", " CI: "], allowedAgentIds: ["Main"] };
    const { post, tasks, ended } = await webhookGateway(t, { hooks });
    const refused = await post("key", { key: "main" });
    assert.equal(refused.status, 400);
    assert.equal((await body(refused)).error, "sessionKey must start with one of: hook:, ci:");
    for (const key of ["hook:\u0000", "hook:a\nb", "hook:\ud800x", `hook:${"x".repeat(508)}`]) {
      const odd = await post("key", { key });
      assert.equal(odd.status, 400, JSON.stringify(key.slice(0, 20)));
      assert.equal((await body(odd)).error, "sessionKey must be at most 512 printable characters");
    }
    await ended((await body(await post("key", { key: "CI:7" }))).runId);
    assert.equal(tasks.at(-1)?.params["sessionKey"], "CI:7");
    const agent = await post("agent");
    assert.equal(agent.status, 400);
    assert.match((await body(agent)).error ?? "", /hooks\.allowedAgentIds/);
    const asked = await post("task", { message: "m", sessionKey: "hook:x" });
    assert.equal(asked.status, 400);
    assert.match((await body(asked)).error ?? "", /hooks\.allowRequestSessionKey/);
    assert.equal((await post("task", { message: "m", agentId: "MAIN" })).status, 200);
    assert.equal((await post("task", { message: "m", agentId: "x" })).status, 400);
  });

  it("use the default session key, and requests may choose one if allowed", async (t) => {
    const hooks = {
      defaultSessionKey: " hook:ingress ",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:", "mine"],
    };
    const { post, tasks, ended } = await webhookGateway(t, { hooks });
    await ended((await body(await post("task", { message: "m" }))).runId);
    await ended((await body(await post("task", { message: "m", sessionKey: "mine" }))).runId);
    assert.deepEqual(
      tasks.map(({ params }) => params["sessionKey"]),
      ["hook:ingress", "mine"],
    );
  });

  it("do not use the sessions of people when no prefixes are set", async (t) => {
    const mappings = [{ match: { path: "own" }, messageTemplate: "m", sessionKey: "ci" }];
    const { post, tasks, ended } = await webhookGateway(t, { hooks: { allowRequestSessionKey: true, mappings } });
    for (const sessionKey of [
      "main",
      "agent:main:main",
      " AGENT:main:main",
      "agent:main:x:hook:",
      "agent:main:hook:x",
      "xhook:",
    ]) {
      const refused = await post("task", { message: "m", sessionKey });
      assert.equal(refused.status, 400, sessionKey);
      assert.match((await body(refused)).error ?? "", /set hooks\.allowedSessionKeyPrefixes/, sessionKey);
    }
    for (const sessionKey of ["hook:a", "Hook:b"]) {
      await ended((await body(await post("task", { message: "m", sessionKey }))).runId);
      assert.equal(tasks.at(-1)?.params["sessionKey"], sessionKey);
    }
    await ended((await body(await post("own", {}))).runId);
    assert.equal(tasks.at(-1)?.params["sessionKey"], "ci", "a mapping is the operator's own");
  });

  it("report that the plugin of their action is missing", async (t) => {
    const mappings = [{ id: "c", match: { path: "c" }, action: "none", any: "{{thing}}" }];
    const { service, gateway } = await webhookGateway(t, { hooks: { mappings } });
    const [problem, ...others] = service?.check() ?? [];
    assert.equal(problem?.path, "hooks.mappings[0].action");
    assert.match(problem?.message ?? "", /no plugin here has the action "none".*requests get 501/);
    assert.deepEqual(others, []);
    assert.ok(gateway.warnings.some((warning) => warning.startsWith("hooks.mappings[0].action: ")));
  });
});

describe("a trial", () => {
  it("shows the steps of a request and has no effect", async (t) => {
    const mappings = [
      { id: "first", match: { path: "in", source: "ci" }, messageTemplate: "no" },
      { id: "second", match: { path: "in" }, messageTemplate: "{{a}} {{b.c}}", sessionKey: "hook:{{a}}" },
    ];
    const { service, records, tasks, notes } = await webhookGateway(t, { hooks: { mappings } });
    const report = await service?.try({ mapping: "second", payload: { a: "A" } });
    assert.deepEqual(report?.passed, [{ id: "first", why: 'payload.source is not "ci"' }]);
    assert.equal(report?.mapping, "second");
    assert.deepEqual(report?.rendered, { message: "A ", sessionKey: "hook:A" });
    assert.deepEqual(report?.missing, ["b.c"]);
    assert.equal(report?.action, "task");
    assert.equal(report?.policy?.wrapped, true);
    assert.equal(report?.policy?.sessionKey, "hook:A");
    assert.equal(report?.response.status, 200);
    assert.deepEqual(await records.runs(), []);
    assert.equal(tasks.length + notes.length, 0);
  });

  it("shows the refusal that the sender would get", async (t) => {
    const { service } = await webhookGateway(t, { hooks: { mappings: [{ id: "m", match: { path: "m" } }] } });
    const report = await service?.try({ mapping: "m", payload: {} });
    assert.deepEqual(report?.response, { status: 400, body: { ok: false, error: "message required" } });
    await assert.rejects(service?.try({ mapping: "x y", payload: {} }) ?? Promise.resolve(), { code: "NOT_FOUND" });
  });
});
