/** Empty scopes, commands, policy files and allowlists: empty grants nothing, and a meaningless value is refused or treated as the strictest. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { judgeExec, openExecPolicy, rulesFor } from "@svc/kit/exec";
import { execApprovals } from "@svc/sdk/approvals";
import { devices } from "@svc/sdk/devices";
import { directory, put } from "../../directory.ts";
import { ADMIN, createDevice, openScene, READ, requestOf, SECRET } from "../../plugins/devices/scene.ts";
import { connectFrame, openRaw } from "../../raw-socket.ts";
import { powers, probePlugin } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("no scopes", limited, () => {
  it("requested grant none: with the secret, by a token, after an approval, after a rotation", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin], config: { devices: { localApproval: "ask" } } });
    const device = createDevice();
    const requestId = requestOf(await scene.shared(device, { scopes: [] }));
    await scene.client.call(devices.approve, { requestId });
    const first = await scene.shared(device, { scopes: [] });
    assert.deepEqual([await powers(first.socket), first.auth?.scopes], [[], []]);
    const token = first.auth?.deviceToken ?? assert.fail();
    assert.deepEqual(await powers((await scene.byToken(device, token, { scopes: [] })).socket), []);
    for (const scopes of [[READ], ["admin"], ["operator.read", ""]])
      assert.equal((await scene.byToken(device, token, { scopes })).ok, false, scopes.join());
    const rotated = await scene.client.call(devices.rotate, { deviceId: device.id, role: "operator", scopes: [] });
    assert.deepEqual(rotated.scopes, []);
    assert.deepEqual(await powers((await scene.byToken(device, rotated.token)).socket), []);
  });

  it("in a rotation remove all, and do not keep the previous ones", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    await scene.pair(device, { scopes: [ADMIN] });
    const none = { deviceId: device.id, role: "operator", scopes: [] };
    const { token } = await scene.client.call(devices.rotate, none);
    assert.equal((await scene.byToken(device, token, { scopes: [READ] })).ok, false);
    for (const bad of [[""], [" "], ["*"], [null], "", {}, null]) {
      const params = { ...none, scopes: bad };
      await assert.rejects(scene.client.request("device.token.rotate", params), { code: "INVALID_REQUEST" });
    }
  });

  it("in odd spellings are refused or grant none, in every field of a connect", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [] })).auth;
    for (const scopes of [[""], [" "], ["*"], ["", READ.toUpperCase()]]) {
      for (const outcome of [
        await scene.shared(device, { scopes }),
        await scene.byToken(device, deviceToken, { scopes }),
      ])
        if (outcome.ok) assert.deepEqual(await powers(outcome.socket), [], JSON.stringify(scopes));
    }
    for (const scopes of [null, "", " ", "*", READ, {}, [[]], [null], [{}], 0, true]) {
      const socket = await openRaw(scene.url);
      socket.send(connectFrame(SECRET, { scopes }));
      const { error } = await socket.next(({ id }) => id === "c1");
      assert.equal(error?.details?.["code"], "CONNECT_PARAMS_INVALID", JSON.stringify(scopes));
      await socket.closed;
    }
  });
});

describe("no commands", limited, () => {
  for (const commands of [undefined, []] as const) {
    it(`declared (${JSON.stringify(commands)}) pin none: later ones need approval`, async (t) => {
      const scene = await openScene(t, { plugins: ["nodes"], config: { devices: { localApproval: "ask" } } });
      const node = createDevice();
      const attempt = { role: "node" as const, ...(commands ? { commands } : {}) };
      await scene.client.call(devices.approve, { requestId: requestOf(await scene.shared(node, attempt)) });
      assert.ok((await scene.shared(node, attempt)).ok);
      await scene.shared(node, { role: "node", commands: ["system.run", "system.notify"] });
      const { nodes } = (await scene.client.request("node.list", {})) as {
        nodes: { commands: string[]; pendingCommands?: string[] }[];
      };
      const offered = nodes.map((one) => [one.commands, one.pendingCommands]);
      assert.deepEqual(offered, [[[], ["system.notify", "system.run"]]]);
      await assert.rejects(
        scene.client.request("node.invoke", { nodeId: node.id, command: "system.notify", idempotencyKey: "1" }),
        /waits for an approval: svc devices approve /,
      );
    });
  }
});

const plan = { argv: ["/usr/bin/rg"], cwd: null, rawCommand: null, agentId: "a", sessionKey: null };

function policyFile(t: TestContext, text: string) {
  const kept = directory(t, "svc-policy-");
  put(join(kept, "exec-approvals.json"), text);
  return openExecPolicy(kept);
}

describe("a policy file", limited, () => {
  type Row = readonly [what: string, file: unknown, verdict: "allow" | "deny" | "ask"];
  const FULL = { security: "full", ask: "off" };
  const listing = (...allowlist: object[]) => ({
    version: 1,
    defaults: { security: "allowlist", ask: "off" },
    agents: { a: { allowlist } },
  });
  const byHand: readonly Row[] = [
    ["nothing at all", {}, "deny"],
    ["null", null, "deny"],
    ["a list", [], "deny"],
    ["a star", "*", "deny"],
    ["only a version", { version: 1 }, "deny"],
    ["no version", { defaults: FULL }, "deny"],
    ["empty agents", { version: 1, defaults: FULL, agents: {} }, "allow"],
    ["agents null", { version: 1, defaults: FULL, agents: null }, "deny"],
    ["a nameless agent", { version: 1, agents: { "": FULL } }, "deny"],
    ["a blank agent", { version: 1, agents: { " ": FULL } }, "deny"],
    ["an agent for all", { version: 1, agents: { "*": FULL } }, "allow"],
    ["an empty agent", { version: 1, defaults: FULL, agents: { a: {} } }, "allow"],
    ...["", " ", "*", "FULL", "full ", "true"].flatMap((word): Row[] => [
      [`security "${word}"`, { version: 1, defaults: { ...FULL, security: word } }, "deny"],
      [`own security "${word}" over full`, { version: 1, defaults: FULL, agents: { a: { security: word } } }, "deny"],
      [`ask "${word}"`, { version: 1, defaults: { ...FULL, ask: word } }, "ask"],
    ]),
    ...["", " ", "*", "**", "/", "~", "rg", ".", "usr/bin/rg"].map((pattern): Row => [
      `pattern "${pattern}"`,
      listing({ pattern }),
      "deny",
    ]),
    ["an empty allowlist", listing(), "deny"],
  ];

  for (const [what, file, verdict] of byHand) {
    it(`written by hand with ${what}: ${verdict}`, async (t) => {
      const rules = rulesFor(await policyFile(t, JSON.stringify(file)).policy(), "a");
      const found = judgeExec(rules, plan, "/usr/bin/rg", { home: "/home/a" });
      assert.equal(found.verdict, verdict);
      if (found.verdict === "ask") assert.equal(found.fallback, "deny", "nobody answers: no");
    });
  }

  it("written by hand that is not JSON, or empty, denies all", async (t) => {
    for (const text of ["", " ", "{", "undefined"]) {
      const rules = rulesFor(await policyFile(t, text).policy(), "a");
      assert.equal(judgeExec(rules, plan, "/usr/bin/rg").verdict, "deny", JSON.stringify(text));
    }
  });

  it("cannot be set with meaningless values, ids and patterns", async (t) => {
    const { client } = await openScene(t, { plugins: ["approvals"] });
    const { hash, file } = await client.call(execApprovals.get, {});
    const odd: object[] = [
      ...["", " ", "*", "FULL"].flatMap((word) =>
        ["security", "ask", "askFallback"].map((key) => ({ defaults: { [key]: word } })),
      ),
      ...["", " ", "*", "**", "rg"].map((pattern) => ({ agents: { a: { allowlist: [{ pattern }] } } })),
      ...[{ "": {} }, { " ": {} }, [], null].map((agents) => ({ agents })),
      ...[null, ""].map((defaults) => ({ defaults })),
    ];
    for (const change of odd) {
      const set = client.request("exec.approvals.set", { file: { version: 1, ...change }, baseHash: hash });
      await assert.rejects(set, { code: "INVALID_REQUEST" }, JSON.stringify(change));
    }
    for (const baseHash of ["", " ", "*", null, undefined]) {
      const set = client.request("exec.approvals.set", { file: { version: 1 }, baseHash });
      await assert.rejects(set, { code: "INVALID_REQUEST" });
    }
    assert.deepEqual((await client.call(execApprovals.get, {})).file, file, "nothing was written");
  });
});
