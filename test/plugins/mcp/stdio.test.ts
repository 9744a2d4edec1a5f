/** Real servers as programs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOf } from "@svc/sdk/models";
import { AWAY, CONNECTED, moving, pidsIn, program, scene } from "./scene.ts";

describe("a server that is a program", { concurrency: 4 }, () => {
  it("offers its tools under its own name, all pages of them", async (t) => {
    const { line, names, tool } = await scene(t, { docs: program() });
    assert.deepEqual(names(), []);
    assert.deepEqual((await line(CONNECTED)).fields, { server: "docs", tools: 10 });
    assert.deepEqual(names().slice(0, 3), ["docs__echo", "docs__environment", "docs__fail"]);
    const { description, params, scope, optional } = tool("docs__echo");
    assert.deepEqual([description, scope, optional], ["Says it again", "operator.write", undefined]);
    assert.deepEqual(params, { type: "object", properties: { text: { type: "string" } }, required: ["text"] });
    assert.equal(tool("docs__fail").description, "Tool fail of the MCP server docs");
  });

  it("answers calls: texts between markers, errors, pictures and values", async (t) => {
    const { line, use } = await scene(t, { docs: program() });
    await line(CONNECTED);
    const said = textOf(await use("docs__echo", { text: "hello" }));
    assert.match(said, /Source: External\nFrom: MCP server docs, tool echo\n---\nyou said: hello\n/);
    const failed = await use("docs__fail");
    assert.equal(failed.isError, true);
    assert.match(textOf(failed), /the disk is full/);
    const refused = await use("docs__refuse");
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /not today/);
    const [picture] = (await use("docs__picture")).content;
    assert.equal(picture?.type, "image");
    const figures = await use("docs__figures");
    assert.deepEqual(figures.details, { sum: 3 });
    assert.match(textOf(figures), /\{"sum":3\}/);
  });

  it("gets a minimal environment with the configured variables, and its client has no capabilities", async (t) => {
    const env = { PATH: process.env["PATH"], HOME: "/nowhere", TZ: "UTC", SVC_TOKEN: "canary", NODE_OPTIONS: "--bad" };
    const entry = { ...program(), env: { PLAIN: "text", KEY: { source: "env", id: "KEY" } } };
    const secrets = async (ref: unknown) => `revealed ${(ref as { id: string }).id}`;
    const { line, use, directory } = await scene(t, { docs: entry }, { env, secrets });
    await line(CONNECTED);
    const text = textOf(await use("docs__environment"));
    const seen = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? "") as unknown;
    assert.deepEqual(seen, {
      PATH: process.env["PATH"],
      HOME: "/nowhere",
      TZ: "UTC",
      PLAIN: "text",
      KEY: "revealed KEY",
      cwd: directory,
      client: {}, // neither sampling nor elicitation
    });
  });

  it("a call that times out fails, and the server stays connected when it answers a ping", async (t) => {
    const { clock, line, use, names } = await scene(t, { docs: { ...program(), toolTimeoutSeconds: 5 } });
    await line(CONNECTED);
    const message = 'the MCP server "docs" did not answer within 5 seconds';
    const asked = assert.rejects(use("docs__hang"), { code: "UNAVAILABLE", message });
    await clock.advance(5_000);
    await asked;
    assert.match(textOf(await use("docs__echo", { text: "still here" })), /still here/);
    assert.equal(names().length, 10);
  });

  it("a call ends with its run", async (t) => {
    const { line, use } = await scene(t, { docs: program() });
    await line(CONNECTED);
    const stopping = new AbortController();
    const asked = use("docs__hang", {}, stopping.signal);
    stopping.abort();
    await assert.rejects(asked, { name: "AbortError" });
    await assert.rejects(use("docs__hang", {}, AbortSignal.abort()), { name: "AbortError" });
  });

  it("is started again when it ends, and has no tools meanwhile", async (t) => {
    const { clock, line, use, names, tool } = await scene(t, { docs: program() });
    await line(CONNECTED);
    const echo = tool("docs__echo");
    const [before] = pidsIn(names());
    await assert.rejects(use("docs__crash"), { code: "UNAVAILABLE", message: /failed before it answered/ });
    const { fields, level, message } = await line(AWAY);
    assert.deepEqual([level, fields["retryInMs"]], ["warn", 2_000]);
    assert.equal(fields["reason"], "the program exited with code 3; stderr: out of luck");
    assert.match(message, /check command, args, env and cwd of mcp\.servers\.docs$/);
    assert.deepEqual(names(), []);
    const context = { call: {} as never, principal: {} as never, signal: new AbortController().signal };
    await assert.rejects(async () => echo.run({ text: "x" }, context), {
      code: "UNAVAILABLE",
      message: /is disconnected/,
    });
    await clock.advance(2_000);
    await line(CONNECTED, 2);
    assert.notEqual(pidsIn(names())[0], before);
    assert.match(textOf(await use("docs__echo", { text: "again" })), /again/);
  });

  it("may print lines that are not messages", async (t) => {
    const { line, use } = await scene(t, { docs: program("noisy") });
    await line(CONNECTED);
    assert.match(textOf(await use("docs__echo", { text: "hello" })), /hello/);
  });

  it("that never answers is retried, and delays neither the start nor the stop", async (t) => {
    const { clock, line, names, servers } = await scene(t, { mute: program("mute"), docs: program() });
    await line(CONNECTED);
    const away = line(AWAY);
    const { fields } = await moving(clock, away);
    assert.deepEqual(fields, { server: "mute", reason: "it was not connected within 30 seconds", retryInMs: 2_000 });
    assert.equal(names().length, 10);
    await moving(clock, servers.stop());
  });

  it("that does not exist is logged with the reason, and does not affect other servers", async (t) => {
    const { line, names } = await scene(t, { none: { command: "/no/such/program" }, docs: program() });
    const { fields } = await line(AWAY);
    assert.equal(fields["server"], "none");
    assert.match(String(fields["reason"]), /could not be started: spawn \/no\/such\/program ENOENT/);
    await line(CONNECTED);
    assert.equal(names().length, 10);
  });

  it("that is disabled is not started", async (t) => {
    const { line, lines } = await scene(t, { off: { ...program(), enabled: false }, docs: program() });
    await line(CONNECTED);
    assert.deepEqual(
      lines.map(({ fields }) => fields["server"]),
      ["docs"],
    );
  });

  it("whose secret is missing is logged, without a value", async (t) => {
    const entry = { ...program(), env: { KEY: { source: "env", id: "KEY" } } };
    const { line } = await scene(t, { docs: entry });
    assert.match(String((await line(AWAY)).fields["reason"]), /no running plugin provides secrets/);
  });

  it("its tools are kept apart from those of another; its read-only hint counts only with the operator's scope; its results are external content", async (t) => {
    const entry = { ...program(), include: ["echo", "fi*", "fa*"], exclude: ["fail"] };
    const { line, names, tool, use } = await scene(t, { one: entry, two: { ...entry, scope: "operator.read" } });
    await line(CONNECTED, 2);
    assert.deepEqual(
      names().map((name) => [name, tool(name).effects, tool(name).brings]),
      [
        ["one__echo", undefined, "mcp"],
        ["one__figures", undefined, "mcp"],
        ["two__echo", undefined, "mcp"],
        ["two__figures", ["reads"], "mcp"],
      ],
    );
    const said = await Promise.all(["one__echo", "two__echo"].map((name) => use(name, { text: name })));
    assert.deepEqual(
      said.map((result) => /From: MCP server (\w+)/.exec(textOf(result))?.[1]),
      ["one", "two"],
    );
  });
});
