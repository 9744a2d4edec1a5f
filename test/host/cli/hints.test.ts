/** Refusals name a useful next step, and the exit code distinguishes wrong usage from refusals. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { home } from "./svc.ts";

describe("a verb that is refused", { timeout: 120_000 }, () => {
  it("for an invalid argument exits with 2, before it connects to a gateway", async (t) => {
    const { svc } = home(t);
    for (const args of [
      ["cron", "list", "--limit", "many"],
      ["chat", "--message", "x", "--history", "-1"],
      ["logs", "--level", "loud"],
      ["models", "add", "acme"],
    ]) {
      const { code, stderr } = await svc(args);
      assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, /^Next: /m);
    }
    const { code, stdout } = await svc(["cron", "list", "--limit", "many", "--json"]);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string } };
    assert.deepEqual([code, ok, error.code], [2, false, "INVALID_REQUEST"]);
  });

  it("by a gateway without its plugin suggests svc plugins why", async (t) => {
    const { svc, run } = home(t, { plugins: { use: ["config", "plugins"] } });
    await run();
    const { code, stderr } = await svc(["chat", "--message", "hello"]);
    assert.equal(code, 1);
    assert.match(stderr, /unknown method: chat\.\w+.*\nNext: svc plugins why chat\n$/);
    const why = await svc(["plugins", "why", "chat"]);
    assert.match(why.stdout + why.stderr, /^chat: not in use\n[^]*Next/m);
  });

  it("because a model server is unreachable names what to check", async (t) => {
    const provider = { baseUrl: "http://127.0.0.1:3/v1", models: [{ id: "m" }] };
    const use = ["config", "models", "provider-openai"];
    const { svc, run } = home(t, { plugins: { use }, models: { providers: { acme: provider } } });
    await run();
    const { code, stderr } = await svc(["models", "test"]);
    assert.equal(code, 1);
    assert.match(stderr, /ECONNREFUSED[^]*\nNext: start that server, or correct its address/);
  });
});
