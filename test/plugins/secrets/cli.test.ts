import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/secrets/cli.ts";

/** Runs a verb against a gateway with this response; an `Error` is a refusal. */
const run = (name: string, answer: unknown, json = false) =>
  runCommand(commands, `secrets ${name}`, { json, answers: { [`secrets.${name}`]: answer } });

const row = { path: "models.providers.acme.apiKey", source: "env", provider: "default" };

describe("svc secrets list", () => {
  it("prints one line per reference, and exits with 1 when one is missing", async () => {
    const secrets = [
      { ...row, state: "found" },
      { ...row, path: "x\u001b[2J", state: "failed", reason: "closed" },
    ];
    const { code, printed, asked, scopes } = await run("list", { secrets });
    assert.deepEqual([scopes, asked], [["operator.admin"], [["secrets.list", {}]]]);
    assert.equal(code, 1);
    assert.deepEqual(printed, [
      "PATH                          SOURCE  PROVIDER  STATE",
      "models.providers.acme.apiKey  env     default   found",
      "x\\u001b[2J                    env     default   failed: closed",
    ]);
  });

  it("exits with 0 when all are found or not needed", async () => {
    const secrets = ["found", "pending", "inactive"].map((state) => ({ ...row, state }));
    assert.equal((await run("list", { secrets })).code, 0);
    assert.deepEqual((await run("list", { secrets }, true)).printed, [{ secrets }]);
  });

  it("explains how to add a reference when there is none", async () => {
    const { printed } = await run("list", { secrets: [] });
    assert.match(String(printed[0]), /no references.*source: "env"/u);
  });
});

describe("svc secrets reload", () => {
  it("reports how many references no plugin reads", async () => {
    const rows: [warningCount: number, last: RegExp][] = [
      [0, /were reloaded/u],
      [1, /^1 reference is not read by any running plugin/u],
      [2, /^2 references are not read/u],
    ];
    for (const [warningCount, last] of rows)
      assert.match(String((await run("reload", { ok: true, warningCount })).printed.at(-1)), last);
  });

  it("passes a refusal on", async () =>
    assert.match((await run("reload", new Error("nothing was reloaded"))).message, /nothing was/u));
});
