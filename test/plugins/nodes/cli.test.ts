/** `svc nodes ...` against a real gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { nodes, type NodeView } from "@svc/sdk/nodes";
import { sessions } from "@svc/sdk/sessions";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/nodes/cli.ts";
import { resolveNode } from "../../../plugins/nodes/cli-input.ts";
import { type NodeScene, nodeScene } from "./scene.ts";

interface Options extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
}

const run = ({ connect }: NodeScene, verb: string, args: string[] = [], { json = false, ...options }: Options = {}) =>
  runCommand(commands, `nodes ${verb}`, { args, options, json, connect });

const view = (nodeId: string, displayName?: string): NodeView => ({
  nodeId,
  ...(displayName === undefined ? {} : { displayName }),
  caps: [],
  commands: [],
  paired: true,
  connected: true,
});

describe("the argument <node>", () => {
  const all = [view("abc123", "Kitchen"), view("abd456", "Kitchen phone"), view("ffff00", "Hall"), view("hall")];
  const found: [wanted: string, nodeId: string][] = [
    ["abc123", "abc123"],
    ["ABC1", "abc123"],
    ["kitchen", "abc123"],
    [" kitchen p", "abd456"],
    ["ff", "ffff00"],
  ];
  it("is an id, a name, or a unique prefix of one", () => {
    for (const [wanted, nodeId] of found) assert.equal(resolveNode(all, wanted).nodeId, nodeId, wanted);
    for (const wanted of ["Ha", "hall", "ab", "nobody", " "])
      assert.throws(() => resolveNode(all, wanted), { name: "GatewayError", message: /\nNext: / }, wanted);
  });

  it("lists the matching nodes, with control characters escaped", () => {
    const two = [view("a1", "x\u001b[2J"), view("a2", "y")];
    const message = '"a" matches 2 nodes:\n  a1  x\\u001b[2J\n  a2  y\nNext: give the id of one';
    assert.throws(() => resolveNode(two, "a"), { code: "INVALID_REQUEST", message });
  });
});

describe("svc nodes", { timeout: 120_000 }, () => {
  it("lists nodes, or says how to get one, and renames them", async (t) => {
    const scene = await nodeScene(t);
    assert.match((await run(scene, "list")).text, /no node is paired.*svc node run/);
    const { id } = await scene.node({
      commands: ["system.notify", "system.run"],
      record: { displayName: "Kitchen", commands: ["system.notify"] },
    });
    scene.devices.pair(createDevice(), { displayName: "Hall" });
    const { printed } = await run(scene, "list");
    assert.deepEqual(printed.slice(0, 2), [
      "NAME     ID            STATE      PLATFORM  COMMANDS  NOTE",
      `Kitchen  ${id.slice(0, 12)}  connected  macos     1         1 wait: svc devices list`,
    ]);
    assert.match(String(printed[2]), /^Hall .* offline /);
    const [json] = (await run(scene, "list", [], { json: true })).printed as [{ nodes: unknown[] }];
    assert.equal(json.nodes.length, 2);
    assert.equal((await run(scene, "rename", ["kit", "Parlour"])).text, `${id} is now called Parlour`);
    assert.equal((await scene.view(id))?.displayName, "Parlour");
    assert.match((await run(scene, "rename", ["hall", " "])).message, /displayName must be one line.*\nNext: /);
  });

  it("describes a node by a prefix of its name, and asks it and prints its answer", async (t) => {
    const scene = await nodeScene(t);
    const one = await scene.node({ permissions: { screen: true }, record: { displayName: "Kitchen" } });
    const { text, printed } = await run(scene, "describe", ["kit"]);
    assert.match(text, new RegExp(`^nodeId +${one.id}$`, "m"));
    assert.match(text, /^commands +location\.get system\.notify system\.run$/m);
    assert.match(text, /^may screen +yes$/m);
    assert.ok(printed.length > 5);
    const [json] = (await run(scene, "describe", [one.id], { json: true })).printed as [{ nodeId: string }];
    assert.equal(json.nodeId, one.id);
    assert.match((await run(scene, "describe", ["nobody"])).message, /no node "nobody"\nNext: svc nodes list/);
    const answer = await run(scene, "invoke", ["kitchen", "system.notify"], {
      params: '{"title":"a\\u001bb"}',
      timeout: "5000",
    });
    assert.deepEqual([answer.text, answer.code], ['{\n  "title": "a\\u001bb"\n}', 0]);
    assert.equal(one.asked[0]?.timeoutMs, 5_000);
    assert.ok(one.asked[0]?.idempotencyKey);
    const whole = await run(scene, "invoke", ["kitchen", "system.notify"], { json: true });
    assert.equal((whole.printed[0] as { ok: boolean }).ok, true);
  });

  it("names the next command after a refusal", async (t) => {
    const scene = await nodeScene(t);
    const one = await scene.node({
      commands: ["camera.snap", "system.notify"],
      record: { displayName: "Kitchen", commands: ["camera.snap"] },
    });
    const request = scene.devices.request("r1", { deviceId: one.id });
    scene.devices.pair(createDevice(), { displayName: "Hall" });
    const rows: [args: string[], options: Options, message: RegExp][] = [
      [["kitchen", "camera.snap"], {}, /svc config set gateway\.nodes\.allowCommands '\["camera\.snap"\]'/],
      [["kitchen", "system.notify"], {}, new RegExp(`svc devices approve ${request.requestId}`)],
      [["kitchen", "system.run"], {}, /did not declare system\.run; see: svc nodes describe/],
      [["hall", "system.notify"], {}, /not connected; start it there with: svc node run/],
      [["nobody", "system.notify"], {}, /Next: svc nodes list/],
      [["kitchen", "x"], { params: "{" }, /--params is not JSON.*\nNext: quote it/],
      [["kitchen", "x"], { timeout: "1h" }, /--timeout takes milliseconds/],
    ];
    for (const [args, options, message] of rows)
      assert.match((await run(scene, "invoke", args, options)).message, message);
    assert.deepEqual(one.asked, []);
  });

  it("lists pending nodes, and approves one", async (t) => {
    const scene = await nodeScene(t);
    assert.equal((await run(scene, "approve")).code, 0);
    scene.devices.request("r1", { displayName: "Kit\u0007chen", platform: "linux", commands: ["system.run"] });
    const waiting = await run(scene, "approve");
    assert.equal(waiting.code, 1);
    assert.match(waiting.text, /Kit\\u0007chen \(linux\)\n.*system\.run\n.*svc nodes approve r1/);
    assert.match((await run(scene, "approve", ["r2"])).message, /no request has this id.*svc nodes approve/);
    assert.match((await run(scene, "approve", ["r1"])).text, /^approved /);
    const { request } = await scene.client.call(nodes.pairRequest, { nodeId: "old" });
    assert.match((await run(scene, "approve", [request.requestId])).text, /^approved old$/);
  });
});

describe("svc nodes run for a session", { timeout: 120_000 }, () => {
  it("runs only what the session settings allow, and names the command that changes them", async (t) => {
    const scene = await nodeScene(t, { plugins: ["sessions", "approvals"] });
    const ran: string[] = [];
    const file = { version: 1, defaults: { security: "full", ask: "off" } };
    const plan = { argv: ["uname"], cwd: null, rawCommand: null, agentId: null, sessionKey: "agent:main:main" };
    const answers: Record<string, object> = {
      "system.run.prepare": { cmdText: "uname", plan, resolvedPath: "/bin/uname" },
      "system.execApprovals.get": { path: "/p", exists: true, hash: "h", file },
      "system.run": { exitCode: 0, stdout: "Linux\n", success: true },
    };
    await scene.node({
      client: { displayName: "Shop" },
      commands: Object.keys(answers),
      answer: ({ command }) => {
        ran.push(command);
        return { ok: true, payload: answers[command] };
      },
    });
    const once = async (settings: object) => {
      await scene.client.call(sessions.patch, { key: "main", execSecurity: null, execAsk: null, ...settings });
      const options = { session: "agent:main:main", wait: false };
      return run(scene, "run", ["shop", "uname"], options);
    };
    const denied = await once({ execSecurity: "deny" });
    assert.match(denied.message, /execSecurity of session .* is deny\nNext: .*svc sessions patch agent:main:main/);
    const asked = await once({ execAsk: "always" });
    assert.match(asked.message, /this program needs an approval: execAsk of session agent:main:main is always/);
    assert.deepEqual([denied.code, asked.code, ran.includes("system.run")], [1, 1, false]);
    const free = await once({});
    assert.deepEqual([free.code, free.message, ran.at(-1)], [0, "", "system.run"]);
  });
});
