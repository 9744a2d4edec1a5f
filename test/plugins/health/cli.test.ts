import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { refusal } from "@svc/sdk/errors";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/health/cli.ts";
import { duration } from "../../../plugins/health/report.ts";

const healthy = {
  ok: true,
  durationMs: 3,
  defaultAgentId: "main",
  agents: [{}],
  channelOrder: [],
  sessions: { count: 2, path: "/s" },
};
const recent = [{ key: "agent:main:main", age: 120_000, percentUsed: 25, flags: [] }];
const heartbeat = { agents: [{ agentId: "main", enabled: false, every: "0m" }] };
const status = { heartbeat, sessions: { count: 2, defaults: { model: "m1" }, recent } };
const answers = { health: healthy, status, "system-presence": [], "config.get": { valid: true } };

describe("svc gateway health and status", () => {
  it("print a few lines, and the payload as it is with --json", async () => {
    const health = await runCommand(commands, "gateway health", { answers });
    assert.deepEqual(health.printed, [
      "Gateway: ok (3 ms)",
      "Agents: 1 (default main)",
      "Channels: none",
      "Sessions of main: 2 in /s",
    ]);
    const row = "  agent:main:main: 2m ago, 25% of the context used";
    const { printed } = await runCommand(commands, "gateway status", { answers });
    assert.deepEqual(printed, ["Model: m1", "Heartbeat: main off", "Sessions: 2", row]);
    assert.deepEqual((await runCommand(commands, "gateway health", { answers, json: true })).printed, [healthy]);
  });

  it("report a plugin that is not running, and the next step", async () => {
    const health = { ...healthy, ok: false, missingPlugins: ["chat", "sessions"] };
    const { printed } = await runCommand(commands, "gateway health", { answers: { health } });
    assert.deepEqual(printed.slice(0, 3), [
      "Gateway: not ok (3 ms)",
      "Not running: chat, sessions",
      "Next: svc plugins list",
    ]);
  });

  it("pass a refusal on", async () => {
    const { error } = await runCommand(commands, "gateway health", {
      answers: { health: new GatewayError("UNAVAILABLE", "no") },
    });
    assert.equal((error as GatewayError).code, "UNAVAILABLE");
  });
});

describe("svc gateway probe", () => {
  /** A gateway with these responses; an `Error` is a refusal. */
  async function probe(given: Readonly<Record<string, unknown>> = {}, refused?: Error, json = false) {
    let open = 0;
    const asked = [] as (readonly string[] | undefined)[];
    const call = async ({ name }: { readonly name: string }) => {
      const value = { ...answers, ...given }[name];
      if (value instanceof Error) throw value;
      return value;
    };
    const hello = { server: { version: "1.2.3", connId: "c" } };
    const client = { hello, call, request: (name: string) => call({ name }), close: async () => void open-- };
    const run = await runCommand(commands, "gateway probe", {
      json,
      async connect(options) {
        asked.push(options?.scopes);
        if (refused) throw refused;
        open++;
        return client as unknown as GatewayClient; // only the parts that the command uses
      },
    });
    assert.equal(open, 0, "the connection is closed");
    return { ...run, asked };
  }

  it("succeeds if a reader gets all four responses", async () => {
    const { code, printed, asked } = await probe();
    assert.deepEqual([code, asked], [0, [["operator.read"]]]);
    assert.match(String(printed[1]), /^Latency: \d+ ms$/);
    assert.deepEqual(printed, ["Reachable: yes", printed[1], "Version: 1.2.3"]);
  });

  const unknown = new GatewayError("INVALID_REQUEST", "unknown method: config.get");
  const broken = { ...healthy, ok: false };
  const failures: [failed: string, given: Record<string, unknown>][] = [
    ["config.get: unknown method: config.get", { "config.get": unknown }],
    ["health: not ok; not running: chat, sessions", { health: { ...broken, missingPlugins: ["chat", "sessions"] } }],
    ["health: not ok; not running: unknown", { health: broken }],
  ];
  for (const [failed, given] of failures)
    it(`reports the failed method and the next step: ${failed}`, async () => {
      const { code, printed } = await probe(given);
      assert.deepEqual([code, printed[3]], [1, `Failed: ${failed}`]);
      assert.match(String(printed[4]), /^Next: .*svc plugins list/);
    });

  const untrusted = refusal("TLS_UNTRUSTED", "no luck\nNext: --tls-fingerprint <sha256>");
  const unreachable: [why: string, error: Error, next: RegExp][] = [
    ["no gateway", new GatewayError("UNAVAILABLE", "no luck"), /svc gateway run/],
    ["a wrong token", new GatewayError("INVALID_REQUEST", "no luck"), /SVC_GATEWAY_TOKEN/],
    ["an unknown device", new GatewayError("NOT_PAIRED", "no luck"), /approve this device/],
    ["an untrusted certificate", untrusted, /^Next: --tls-fingerprint <sha256>$/],
  ];
  for (const [why, error, next] of unreachable)
    it(`reports that it cannot connect, and the next step: ${why}`, async () => {
      const { code, printed } = await probe({}, error);
      assert.deepEqual([code, printed.slice(0, 2)], [1, ["Reachable: no", "Reason: no luck"]]);
      assert.match(String(printed[2]), next);
    });

  it("prints one report with --json", async () => {
    const { code, printed } = await probe({}, new GatewayError("UNAVAILABLE", "no luck"), true);
    assert.deepEqual([code, printed], [1, [{ ok: false, reachable: false, error: "no luck", code: "UNAVAILABLE" }]]);
  });
});

describe("a duration for people", () => {
  const rows: [ms: number, text: string][] = [
    [0, "0s"],
    [59_999, "59s"],
    [60_000, "1m"],
    [7_200_000, "2h"],
    [200_000_000, "2d"],
  ];
  for (const [ms, text] of rows) it(`of ${ms} ms is ${text}`, () => assert.equal(duration(ms), text));
});
