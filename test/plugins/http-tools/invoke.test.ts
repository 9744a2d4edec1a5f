/** `/tools/invoke` of a running gateway, row by row of http/tools-invoke.md §1 to §4 and §9. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, it } from "node:test";
import { type Answer, gone, shared, start } from "./scene.ts";

const invalid = (message: string) => ({ error: { message, type: "invalid_request_error" } });
const toolError = (message: string) => ({ ok: false, error: { type: "tool_error", message } });
const detailsOf = ({ body }: Answer) => (body as { result: { details: Record<string, unknown> } }).result.details;

describe("what a tool answers", () => {
  const scene = shared();

  it("is passed on, in the family of its outcome", async () => {
    const { invoke } = scene();
    const ok = (result: object) => ({ ok: true, result });
    const rows: readonly (readonly [tool: string, status: number, body: object])[] = [
      ["plain", 200, ok({ content: [{ type: "text", text: "just text" }] })],
      ["soft", 200, ok({ content: [], details: { error: "no key" }, isError: true })],
      ["refuses", 400, toolError("action required")],
      ["forbids", 403, toolError("not yours")],
      ["gated", 403, toolError("not allowed: not on Sundays")],
      ["lacks", 404, toolError("no such file")],
      ["conflicts", 409, toolError("changed meanwhile")],
      ["away", 503, toolError("come back later")],
      ["breaks", 500, toolError("tool execution failed")],
      ["buggy", 500, toolError("tool execution failed")],
      ["unwritable", 500, toolError("tool execution failed")],
      ["nobody", 404, gone("nobody")],
      [
        "message",
        400,
        toolError("invalid arguments for the tool message: at root: must have required properties action"),
      ],
    ];
    for (const [tool, status, body] of rows) {
      const answer = await invoke({ tool });
      assert.deepEqual([answer.status, answer.body], [status, body], tool);
      assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8", tool);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff", tool);
    }
    assert.equal((await invoke({ tool: "away" })).headers.get("retry-after"), "2");
  });

  it("comes from a call that says who asks and where", async () => {
    const { invoke } = scene();
    const headers = {
      "x-svc-message-channel": "IRC",
      "x-svc-account-id": "work",
      "x-svc-message-to": "#team",
      "x-svc-thread-id": "5",
    };
    const [first, second] = await Promise.all([
      invoke({ tool: "echo", args: { a: 1 } }, headers),
      invoke({ tool: "owners", args: {} }),
    ]);
    const { toolCallId, runId, ...rest } = detailsOf(first);
    assert.match(String(toolCallId), /^http-\d{13}$/);
    assert.equal(runId, toolCallId);
    assert.deepEqual(rest, {
      name: "echo",
      arguments: { a: 1 },
      sessionKey: "agent:main:main",
      agentId: "main",
      address: { channel: "irc", accountId: "work", to: "#team", threadId: "5" },
      scopes: ["operator.admin"],
    });
    assert.notEqual(detailsOf(second)["toolCallId"], toolCallId);
    assert.deepEqual([detailsOf(second)["arguments"], "origin" in detailsOf(second)], [{}, false]);
  });

  it("may come from an action beside the arguments", async () => {
    const { invoke } = scene();
    const used = async (body: object) => detailsOf(await invoke(body))["arguments"];
    assert.deepEqual(await used({ tool: "message", action: "send" }), { action: "send", to: "all" });
    assert.deepEqual(await used({ name: "message", action: "send", args: { action: "read" } }), {
      action: "read",
      to: "all",
    });
    assert.deepEqual(await used({ tool: "echo", action: "send" }), {});
  });

  it("is not waited for by a client that has gone: the tool is told", async () => {
    const { http, gateway, shed } = scene();
    const headers = { authorization: `Bearer ${gateway.auth.token ?? ""}` };
    const call = request(http, { method: "POST", headers });
    call.on("error", () => undefined);
    call.end(JSON.stringify({ tool: "waits" }));
    await shed.waiting;
    call.destroy();
    await shed.stopped;
  });
});

describe("the session a call is for", () => {
  const scene = shared();

  it("is the main one, or the one that is named", async () => {
    const { invoke, shed } = scene();
    shed.agents.set("ada", {});
    const rows: readonly (readonly [sessionKey: unknown, canonical: string, agentId: string])[] = [
      [undefined, "agent:main:main", "main"],
      [null, "agent:main:main", "main"],
      ["  ", "agent:main:main", "main"],
      ["main", "agent:main:main", "main"],
      ["global", "global", "main"],
      ["Notes", "agent:main:notes", "main"],
      [" agent:ADA:irc:group:#Team ", "agent:ada:irc:group:#team", "ada"],
    ];
    for (const [sessionKey, canonical, agentId] of rows) {
      const call = detailsOf(await invoke({ tool: "echo", sessionKey }));
      assert.deepEqual([call["sessionKey"], call["agentId"]], [canonical, agentId]);
    }
  });

  it("is global where there is only one", async (t) => {
    const { invoke } = await start(t, { session: { scope: "global" } });
    assert.equal(detailsOf(await invoke({ tool: "echo", sessionKey: "main" }))["sessionKey"], "global");
  });

  it("is refused where it is none", async () => {
    const { invoke, shed } = scene();
    const malformed = await invoke({ tool: "echo", sessionKey: "agent:main" });
    assert.deepEqual(
      [malformed.status, (malformed.body as { error: { type: string } }).error.type],
      [400, "invalid_request_error"],
    );
    const ghost = await invoke({ tool: "echo", sessionKey: "agent:ghost:main" });
    const error = { message: 'no agent "ghost"; agents.list shows the configured ones', type: "not_found" };
    assert.deepEqual([ghost.status, ghost.body], [404, { error }]);
    assert.deepEqual(shed.ran, []);
  });
});

describe("a dry run", () => {
  const scene = shared();

  it("answers what would be called, and calls nothing", async () => {
    const { invoke, shed } = scene();
    const good = await invoke({ tool: "message", action: "send", dryRun: true });
    const result = {
      tool: "message",
      args: { action: "send", to: "all" },
      agentId: "main",
      sessionKey: "agent:main:main",
    };
    assert.deepEqual([good.status, good.body], [200, { ok: true, dryRun: true, result }]);
    const wrong = await invoke({ tool: "message", args: { action: 5 }, dryRun: true });
    assert.deepEqual(
      [wrong.status, wrong.body],
      [400, toolError("invalid arguments for the tool message: at /action: must be string")],
    );
    for (const tool of ["cron", "nobody"])
      assert.deepEqual((await invoke({ tool, dryRun: true })).body, gone(tool), "the policy is asked as well");
    assert.deepEqual(shed.ran, []);
  });
});

describe("before there is a tool", () => {
  const scene = shared();

  it("a body that asks for none is 400", async () => {
    const { invoke } = scene();
    for (const body of ["", "{}", "[]", '{"tool":" "}', '{"args":{}}']) {
      const answer = await invoke(body);
      assert.deepEqual([answer.status, answer.body], [400, invalid("tools.invoke requires body.tool")], body);
    }
    const half = await invoke('{"tool":');
    const { error } = half.body as { error: { message: string; type: string } };
    assert.deepEqual([half.status, error.type], [400, "invalid_request_error"]);
    assert.match(error.message, /JSON/);
    assert.equal("ok" in (half.body as object), false);
  });

  it("a body of another kind is 415", async () => {
    const { invoke } = scene();
    const xml = await invoke({ tool: "plain" }, { "content-type": "application/xml" });
    assert.deepEqual([xml.status, xml.body], [415, invalid("the body must be JSON; send it as application/json")]);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream"])
      assert.equal((await invoke({ tool: "plain" }, { "content-type": type })).status, 200, type);
  });

  it("a body of up to 2 MiB is read, and no more", async () => {
    const { invoke } = scene();
    const sized = (bytes: number) => {
      const empty = JSON.stringify({ tool: "plain", args: { x: "" } });
      return empty.replace('"x":""', `"x":"${"x".repeat(bytes - empty.length)}"`);
    };
    assert.equal((await invoke(sized(2_097_152))).status, 200);
    const large = await invoke(sized(2_097_153));
    assert.deepEqual([large.status, large.body], [413, invalid("Payload too large")]);
  });

  it("only POST is taken, which is told to anybody", async () => {
    const { http } = scene();
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await fetch(http, { method });
      const text = await answer.text();
      assert.deepEqual([answer.status, answer.headers.get("allow"), text], [405, "POST", "Method Not Allowed"], method);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
    }
  });

  it("the path has one spelling, and a query says nothing", async () => {
    const { http, gateway } = scene();
    const headers = { authorization: `Bearer ${gateway.auth.token ?? ""}` };
    const post = async (url: string) =>
      (await fetch(url, { method: "POST", headers, body: '{"tool":"plain"}' })).status;
    assert.equal(await post(`${http}?tool=cron&dryRun=true`), 200);
    assert.equal(await post(`${http}/`), 404);
    assert.equal(await post(http.replace("tools/invoke", "Tools/Invoke")), 404);
  });

  it("a missing or wrong credential is 401, and guessing is 429 [H4.1]", async (t) => {
    const rateLimit = { maxAttempts: 3, exemptLoopback: false };
    const { invoke, shed } = await start(t, { gateway: { auth: { mode: "token", token: "right", rateLimit } } });
    const unauthorized = { error: { message: "Unauthorized", type: "unauthorized" } };
    assert.equal((await invoke({ tool: "plain" })).status, 200);
    for (const authorization of ["", "right", "Bearer wrong", "Bearer wrung", "Bearer wring"]) {
      const { status, body } = await invoke({ tool: "echo" }, { authorization });
      assert.deepEqual([status, body], [401, unauthorized], authorization);
    }
    const locked = await invoke({ tool: "echo" });
    assert.equal(locked.status, 429, "also with the right one");
    assert.equal((locked.body as { error: { type: string } }).error.type, "rate_limited");
    assert.ok(Number(locked.headers.get("retry-after")) > 0);
    assert.deepEqual(shed.ran, []);
  });
});
