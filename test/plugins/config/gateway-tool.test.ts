/** The tool `gateway` on a real gateway, with a real file. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type GatewayError, type Principal } from "@svc/sdk";
import { valueAt } from "@svc/sdk/cli";
import { textOf } from "@svc/sdk/models";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { type ToolResult, Tools } from "@svc/sdk/tools";
import { partsOf, schemaAt } from "../../../plugins/config/at-path.ts";
import { createBudget } from "../../../plugins/config/budget.ts";

const TOKEN = "a-token-nobody-may-read";

async function scene(t: TestContext, { restartable = true } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "svc-config-tool-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "svc.json");
  const file = { gateway: { reload: { mode: "off" }, auth: { token: TOKEN } }, logging: { level: "warn" } };
  writeFileSync(path, JSON.stringify(file));
  const found: { tools?: Tools } = {};
  const user = definePlugin({
    id: "user",
    api: "^1.0.0",
    requires: { tools: Tools },
    setup: (gateway) => gateway.start(() => void (found.tools = gateway.services.tools)),
  });
  await testGateway(t, {
    plugins: ["config", "tools", user],
    stateDir: directory,
    gateway: { config: undefined, ...(restartable ? { restart: { perform: () => undefined } } : {}) },
  });
  const attempt = (args: object, scopes: readonly string[]) => {
    const principal: Principal = { id: "token", role: "operator", scopes, provenance: "token", epoch: 1 };
    const place = { sessionKey: "agent:main:main", agentId: "main" };
    const call = { name: "gateway", arguments: { ...args }, toolCallId: "1", runId: "1", ...place };
    const signal = new AbortController().signal;
    return found.tools?.attempt(call, { surface: "run", ...place, principal }, signal) ?? assert.fail("no tools");
  };
  const use = async (args: object): Promise<ToolResult> => {
    const made = await attempt(args, ["operator.admin"]);
    return made.outcome === "done" ? made.result : assert.fail(JSON.stringify(made));
  };
  const refusal = async (args: object, scopes: readonly string[] = ["operator.admin"]): Promise<GatewayError> => {
    const made = await attempt(args, scopes);
    return made.outcome === "refused" ? made.error : assert.fail(JSON.stringify(made));
  };
  const details = async (args: object) => (await use(args)).details as Record<string, unknown>;
  const read = () => JSON.parse(readFileSync(path, "utf8")) as typeof file;
  return { use, refusal, details, read, directory };
}

describe("the tool gateway", { timeout: 120_000 }, () => {
  it("requires an action, lists its actions, and is for the owner only", async (t) => {
    const { refusal } = await scene(t);
    assert.equal((await refusal({})).message, "action required");
    assert.match((await refusal({ action: "update.run" })).message, /^unknown action "update.run"; actions: status,/);
    assert.equal((await refusal({ action: "status" }, ["operator.write", "operator.approvals"])).code, "FORBIDDEN");
  });

  it("shows the state of the gateway", async (t) => {
    const { details } = await scene(t);
    const { authMode, restartPossible, plugins, uptimeMs, connections } = await details({ action: "status" });
    assert.deepEqual([authMode, restartPossible, connections, Number(uptimeMs) >= 0], ["token", true, 1, true]);
    assert.ok((plugins as { id: string }[]).some(({ id }) => id === "config"));
  });

  it("reads the configuration and its schema, in parts, without secrets", async (t) => {
    const { use, details, refusal } = await scene(t);
    const whole = await use({ action: "config.get" });
    assert.doesNotMatch(JSON.stringify(whole), new RegExp(TOKEN));
    assert.equal((whole.details as { parsed: { logging: { level: string } } }).parsed.logging.level, "warn");
    const { hash } = JSON.parse(textOf(whole)) as { hash: string };
    assert.deepEqual(await details({ action: "config.get", path: " logging.level " }), {
      path: "logging.level",
      hash,
      value: "warn",
    });
    const auth = await details({ action: "config.get", path: "gateway.auth.token" });
    assert.equal(auth["value"], "__SVC_REDACTED__");
    assert.equal((await details({ action: "config.get", path: "no.where" }))["value"], null);

    const all = await use({ action: "config.schema" });
    assert.ok((JSON.parse(textOf(all)) as { keys: string[] }).keys.includes("gateway"));
    assert.ok("uiHints" in (all.details as object));
    const part = await details({ action: "config.schema", path: "logging.level" });
    assert.match(JSON.stringify(part["schema"]), /warn/);
    assert.equal((await refusal({ action: "config.schema", path: "nothing.here" })).code, "NOT_FOUND");
  });

  it("changes the file like the methods: with the hash of the configuration read, and within a budget", async (t) => {
    const { details, refusal, read } = await scene(t);
    const raw = '{ logging: { level: "error" } }';
    const patch = { action: "config.patch", raw };
    assert.match((await refusal(patch)).message, /hash/i);
    const { hash } = await details({ action: "config.get" });
    const written = await details({ ...patch, baseHash: hash });
    assert.deepEqual(written["changed"], ["logging.level"]);
    assert.equal(read().logging.level, "error");
    assert.equal(read().gateway.auth.token, TOKEN);
    assert.match((await refusal({ action: "config.apply", raw: "{}", baseHash: hash })).message, /changed since/);

    const { code, message, retryAfterMs = 0 } = await refusal({ ...patch, baseHash: written["hash"] });
    assert.equal(code, "UNAVAILABLE");
    assert.match(message, /^rate limit exceeded for config\.patch; retry after \d+s$/);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 60_000);
    assert.equal((await refusal({ action: "restart" })).code, "UNAVAILABLE");
    assert.equal((await details({ action: "config.get", path: "logging.level" }))["value"], "error");
  });

  it("schedules a restart, and stores the note for after it", async (t) => {
    const { details, directory } = await scene(t);
    const planned = await details({ action: "restart", delayMs: 60_000, note: "back", reason: "to try" });
    assert.deepEqual([planned["ok"], planned["delayMs"], planned["coalesced"]], [true, 60_000, false]);
    const { payload } = JSON.parse(readFileSync(join(directory, "restart-sentinel.json"), "utf8")) as {
      payload: Record<string, unknown>;
    };
    assert.deepEqual(
      [payload["kind"], payload["message"], payload["sessionKey"]],
      ["restart", "back", "agent:main:main"],
    );
  });

  it("stores nothing if the gateway cannot restart", async (t) => {
    const { refusal, directory } = await scene(t, { restartable: false });
    assert.match((await refusal({ action: "restart", note: "back" })).message, /restart it by hand/);
    assert.ok(!existsSync(join(directory, "restart-sentinel.json")));
    assert.equal((await refusal({ action: "config.patch" })).message, "raw required");
  });
});

describe("a budget", () => {
  it("begins with the first call, and again after its window", async () => {
    const clock = createFakeClock();
    const take = createBudget({ bucket: "b", calls: 2, windowMs: 1_000 }, clock);
    take("x");
    await clock.advance(999);
    take("x");
    assert.throws(() => take("x"), { code: "UNAVAILABLE", retryAfterMs: 1 });
    await clock.advance(1);
    take("x");
    take("x");
    assert.throws(() => take("x"), { message: "rate limit exceeded for x; retry after 1s", retryAfterMs: 1_000 });
  });
});

describe("a part at a path", () => {
  const schema = {
    properties: {
      list: { items: { properties: { id: { type: "string" } } } },
      map: { additionalProperties: { type: "number" } },
      patterns: { patternProperties: { "^.*$": { type: "boolean" } } },
      either: { anyOf: [{ type: "string" }, { properties: { primary: { type: "null" } } }] },
      closed: { additionalProperties: false },
    },
  };
  const rows: [path: string, found: unknown][] = [
    ["", schema],
    ["list.0.id", { type: "string" }],
    ["map.anything", { type: "number" }],
    ["patterns.x", { type: "boolean" }],
    ["either.primary", { type: "null" }],
    ["closed.x", undefined],
    ["list.0.id.x", undefined],
    ["__proto__", undefined],
    ["constructor", undefined],
  ];
  for (const [path, found] of rows) {
    it(`finds ${path || "all"} in a schema`, () => assert.deepEqual(schemaAt(schema, partsOf(path)), found));
  }

  it("finds values by their own keys and indexes only", () => {
    const value = { a: [{ b: 1 }] };
    assert.equal(valueAt(value, partsOf("a.0.b")), 1);
    for (const path of ["a.1", "a.length.x", "toString", "__proto__.x"])
      assert.equal(valueAt(value, partsOf(path)), undefined);
  });
});
