import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/models/cli.ts";
import { findingsOf, statusLines } from "../../../plugins/models/verbs/report.ts";

const listed = {
  models: [
    { provider: "acme", id: "m", name: "Acme M", contextWindow: 1000, reasoning: true, input: ["text", "image"] },
    { provider: "acme", id: "longer", name: "Longer" },
  ],
};
const status = { default: "acme/m", restricted: false, aliases: [], providers: [], resolved: "acme/m" };
const snapshot = { parsed: {}, hash: "h1", exists: true };
const restart = { scheduled: false, delayMs: 0 };
const written = { path: "/c.json", changed: ["agents.defaults.model"], restart };
const tested = {
  model: "acme/m",
  account: "acme:work",
  text: "ok",
  firstTokenMs: 12,
  durationMs: 34,
  usage: { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 },
  cost: 0.000125,
};
const answers: Readonly<Record<string, unknown>> = {
  "models.list": listed,
  "models.status": status,
  "models.test": tested,
  "config.get": snapshot,
  "config.patch": written,
};

const run = (name: string, args: readonly string[] = [], given: object = {}, json = false) =>
  runCommand(commands, name, { args, json, answers: { ...answers, ...given } });

describe("svc models", () => {
  it("list prints a line for each model", async () => {
    const { printed, scopes } = await run("models list");
    assert.deepEqual(printed, ["acme/m       Acme M  (1000 tokens, thinks, images)", "acme/longer  Longer"]);
    assert.deepEqual(scopes, ["operator.read"]);
  });

  it("list prints the next step without models", async () => {
    const { printed } = await run("models list", [], { "models.list": { models: [] } });
    assert.match(String(printed[0]), /models\.providers/u);
  });

  it("print the gateway's response with --json", async () => {
    assert.deepEqual((await run("models list", [], {}, true)).printed, [listed]);
    assert.deepEqual((await run("models test", [], {}, true)).printed, [tested]);
  });

  it("status shows the default model of the file", async () => {
    const parsed = { agents: { defaults: { model: { primary: "fast", fallbacks: ["b"] } } } };
    const { printed } = await run("models status", [], { "config.get": { ...snapshot, parsed } });
    assert.equal(printed[0], "Default: fast");
  });

  it("doctor reports accounts with a rejected key, and those that cool down", () => {
    const account = (name: string, more: object) => ({ name, hasKey: true, ...more });
    const failed = (kind: string) => ({ lastFailure: { kind, status: 401, at: 0, count: 2 } });
    const accounts = [
      account("fine", {}),
      account("acme:old", failed("auth")),
      account("acme:poor", { ...failed("billing"), coolingUntil: 60_000 }),
      account("slow", { ...failed("rate_limit"), coolingUntil: 60_000 }),
      account("back", failed("timeout")),
    ];
    const providers = [{ name: "acme", api: "x", usable: true, models: 1, accounts }];
    const found = findingsOf({ ...status, providers }, 0).map(({ severity, about, message }) => [
      severity,
      about,
      message,
    ]);
    assert.deepEqual(found, [
      ["error", "provider acme, account acme:old", "its key was rejected; ready again after auth (401), 2 in a row"],
      [
        "error",
        "provider acme, account acme:poor",
        "it has no credit; cooling down for 60 s after billing (401), 2 in a row",
      ],
      ["warning", "provider acme, account slow", "cooling down for 60 s after rate_limit (401), 2 in a row"],
    ]);
  });

  it("status works without access to the file", async () => {
    const refused = new GatewayError("INVALID_REQUEST", "unknown method: config.get");
    assert.equal((await run("models status", [], { "config.get": refused })).printed[0], "Default: acme/m");
  });

  it("aliases explains how to add one", async () => {
    assert.match(String((await run("models aliases")).printed[0]), /agents\.defaults\.models/u);
    const aliases = [{ alias: "fast", model: "acme/m" }];
    const { printed } = await run("models aliases", [], { "models.status": { ...status, aliases } });
    assert.deepEqual(printed, ["fast  acme/m"]);
  });

  it("set writes the resolved reference to the current file", async () => {
    const { asked: called, printed, scopes } = await run("models set", ["fast"]);
    assert.deepEqual(called, [
      ["models.status", { model: "fast" }],
      ["config.get", {}],
      ["config.patch", { raw: '{"agents":{"defaults":{"model":"acme/m"}}}', baseHash: "h1" }],
    ]);
    assert.deepEqual(printed, ["Default model: acme/m (written to /c.json)"]);
    assert.deepEqual(scopes, ["operator.admin"]);
  });

  it("set keeps the fallbacks, and creates a missing file", async () => {
    const parsed = { agents: { defaults: { model: { primary: "x", fallbacks: ["b"] } } } };
    const { asked: called } = await run("models set", ["m"], { "config.get": { parsed, hash: "", exists: false } });
    const patch = { raw: '{"agents":{"defaults":{"model":{"primary":"acme/m"}}}}' };
    assert.deepEqual(called[2], ["config.patch", patch]);
  });

  it("set reports that the gateway restarts", async () => {
    const patched = { ...written, restart: { scheduled: true, delayMs: 2_000 } };
    const { printed } = await run("models set", ["m"], { "config.patch": patched });
    assert.equal(printed[1], "The gateway restarts in 2 s.");
  });

  it("set writes nothing for a model that cannot be used", async () => {
    const refused = new GatewayError("NOT_FOUND", "no model");
    const { error, asked } = await run("models set", ["x"], { "models.status": refused });
    assert.equal(error, refused);
    assert.deepEqual(asked, [["models.status", { model: "x" }]]);
    assert.match((await run("models set")).message, /svc models list/u);
  });

  it("test warns about the cost, then reports time, tokens and cost", async () => {
    const { printed, notes, asked: called } = await run("models test", ["acme/m"]);
    assert.match(notes[0] ?? "", /costs/u);
    assert.deepEqual(called, [["models.test", { model: "acme/m" }]]);
    assert.deepEqual(printed, [
      "Model: acme/m (account acme:work)",
      "Answer: ok",
      "First token: 12 ms, total: 34 ms",
      "Tokens: 5 in, 1 out",
      "Cost: $0.000125",
    ]);
  });

  it("test names the next step for a model that the server does not have", async () => {
    const refused = new GatewayError("UNAVAILABLE", "does not know the model", { details: { kind: "request" } });
    const { message } = await run("models test", ["acme/n"], { "models.test": refused });
    assert.match(message, /\nNext: svc models scan/u);
  });

  it("test reports unknown values", async () => {
    const { usage: _usage, cost: _cost, ...rest } = tested;
    const { printed } = await run("models test", [], { "models.test": rest });
    assert.deepEqual(printed.slice(3), [
      "Tokens: not reported by the server",
      "Cost: unknown; no price is configured for this model",
    ]);
  });
});

describe("the status of models", () => {
  it("shows accounts that cool down, failed, or have no key", () => {
    const failure = { kind: "rate_limit", status: 429, at: 0, count: 2 };
    const accounts = [
      { name: "acme:a", hasKey: true, coolingUntil: 61_500, lastFailure: failure },
      { name: "acme:b", hasKey: true, lastFailure: failure },
      { name: "acme:c", hasKey: false },
    ];
    const providers = [{ name: "acme", api: "x", usable: false, models: 1, accounts }];
    const lines = statusLines({ restricted: true, aliases: [{ alias: "f", model: "acme/m" }], providers }, 60_000);
    assert.deepEqual(lines, [
      "Default: none; choose one with `svc models set <provider/id>`",
      "Restricted: only models in agents.defaults.models are allowed",
      "Alias: f -> acme/m",
      "Provider acme (x): 1 model",
      "  cannot be used: no enabled plugin supports x; see `svc plugins list`",
      "  acme:a: cooling down for 2 s after rate_limit (429), 2 in a row",
      "  acme:b: ready again after rate_limit (429), 2 in a row",
      "  acme:c: ready, no key",
    ]);
  });
});
