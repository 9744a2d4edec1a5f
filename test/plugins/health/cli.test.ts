import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { refusal } from "@svc/sdk/errors";
import commands from "../../../plugins/health/cli.ts";
import { duration } from "../../../plugins/health/report.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;
type Answers = Record<string, unknown>;

const healthy = {
  ok: true,
  durationMs: 3,
  defaultAgentId: "main",
  agents: [{}],
  channelOrder: [],
  sessions: { count: 2, path: "/s" },
};
const recent = [{ key: "agent:main:main", age: 120_000, percentUsed: 25, flags: [] }];
const answers: Answers = {
  health: healthy,
  status: {
    heartbeat: { agents: [{ agentId: "main", enabled: false, every: "0m" }] },
    sessions: { count: 2, defaults: { model: "m1" }, recent },
  },
  "system-presence": [],
  "config.get": { valid: true },
};

/** Runs a command against a gateway with these responses; an `Error` is a refusal. */
async function run(
  name: string,
  { given = answers, json = false, refused }: { given?: Answers; json?: boolean; refused?: Error } = {},
) {
  const printed: unknown[] = [];
  const scopes: unknown[] = [];
  let open = 0;
  const answer = async (method: string) => {
    const value = given[method];
    if (value instanceof Error) throw value;
    return value;
  };
  const client = {
    hello: { server: { version: "1.2.3", connId: "c" } },
    call: (method: { name: string }) => answer(method.name),
    request: answer,
    close: async () => void open--,
  } as unknown as Client; // only the parts that the commands use
  const context: CommandContext = {
    args: [],
    options: {},
    json,
    async connect(options) {
      scopes.push(options?.scopes);
      if (refused) throw refused;
      open++;
      return client;
    },
    print: (value) => void printed.push(value),
    stateDir: "/nowhere",
    target: () => Promise.reject(new Error("not asked for")),
    note: () => undefined,
    input: process.stdin,
    output: process.stdout,
  };
  const code = await commands.find((command) => command.name === name)?.run(context);
  return { code, printed, scopes, open };
}

describe("svc gateway health and status", () => {
  it("print a few lines and close the connection", async () => {
    const health = await run("gateway health");
    assert.deepEqual(health.printed, [
      "Gateway: ok (3 ms)",
      "Agents: 1 (default main)",
      "Channels: none",
      "Sessions of main: 2 in /s",
    ]);
    assert.equal(health.open, 0);
    const status = await run("gateway status");
    const row = "  agent:main:main: 2m ago, 25% of the context used";
    assert.deepEqual(status.printed, ["Model: m1", "Heartbeat: main off", "Sessions: 2", row]);
  });

  it("report a plugin that is not running, and the next step", async () => {
    const given = { health: { ...healthy, ok: false, missingPlugins: ["chat", "sessions"] } };
    const { printed } = await run("gateway health", { given });
    assert.deepEqual(printed.slice(0, 3), [
      "Gateway: not ok (3 ms)",
      "Not running: chat, sessions",
      "Next: svc plugins list",
    ]);
  });

  it("print the payload as it is with --json", async () => {
    assert.deepEqual((await run("gateway health", { json: true })).printed, [healthy]);
  });

  it("pass a refusal on, with the connection closed", async () => {
    const given = { health: new GatewayError("UNAVAILABLE", "no") };
    await assert.rejects(run("gateway health", { given }), { code: "UNAVAILABLE" });
  });
});

describe("svc gateway probe", () => {
  it("succeeds if a reader gets all four responses", async () => {
    const { code, printed, scopes, open } = await run("gateway probe");
    assert.equal(code, 0);
    assert.deepEqual(scopes, [["operator.read"]]);
    assert.equal(printed[0], "Reachable: yes");
    assert.match(String(printed[1]), /^Latency: \d+ ms$/);
    assert.deepEqual(printed.slice(2), ["Version: 1.2.3"]);
    assert.equal(open, 0);
  });

  it("reports the failed method and the next step", async () => {
    const given = { ...answers, "config.get": new GatewayError("INVALID_REQUEST", "unknown method: config.get") };
    const { code, printed } = await run("gateway probe", { given });
    assert.equal(code, 1);
    assert.equal(printed[3], "Failed: config.get: unknown method: config.get");
    assert.match(String(printed[4]), /^Next: .*svc plugins list/);
  });

  for (const [missingPlugins, named] of [
    [["chat", "sessions"], "chat, sessions"],
    [undefined, "unknown"],
  ] as const) {
    it(`fails for a gateway that is not ok: ${named}`, async () => {
      const given = { ...answers, health: { ...healthy, ok: false, missingPlugins } };
      const { code, printed } = await run("gateway probe", { given });
      assert.equal(code, 1);
      assert.equal(printed[3], `Failed: health: not ok; not running: ${named}`);
      assert.match(String(printed[4]), /^Next: .*svc plugins list/);
    });
  }

  const unreachable: [code: "UNAVAILABLE" | "INVALID_REQUEST" | "NOT_PAIRED", next: RegExp][] = [
    ["UNAVAILABLE", /svc gateway run/],
    ["INVALID_REQUEST", /SVC_GATEWAY_TOKEN/],
    ["NOT_PAIRED", /approve this device/],
  ];
  for (const [refusal, next] of unreachable) {
    it(`reports that it cannot connect (${refusal}) and the next step`, async () => {
      const { code, printed } = await run("gateway probe", { refused: new GatewayError(refusal, "no luck") });
      assert.equal(code, 1);
      assert.deepEqual(printed.slice(0, 2), ["Reachable: no", "Reason: no luck"]);
      assert.match(String(printed[2]), next);
    });
  }

  it("passes on the next step for an untrusted certificate", async () => {
    const refused = refusal("TLS_UNTRUSTED", "self-signed certificate\nNext: --tls-fingerprint <sha256>");
    const { code, printed } = await run("gateway probe", { refused });
    assert.equal(code, 1);
    const lines = ["Reachable: no", "Reason: self-signed certificate", "Next: --tls-fingerprint <sha256>"];
    assert.deepEqual(printed, lines);
  });

  it("prints one report with --json", async () => {
    const refused = new GatewayError("UNAVAILABLE", "no luck");
    const { code, printed } = await run("gateway probe", { json: true, refused });
    assert.equal(code, 1);
    assert.deepEqual(printed, [{ ok: false, reachable: false, error: "no luck", code: "UNAVAILABLE" }]);
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
