/**
 * Who may do what, against the table of the specification and not against our own contracts: every method, every set of
 * scopes, every transport that can carry a call; and every first frame that is not a good `connect`.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  defineContract,
  definePlugin,
  GatewayError,
  type Method,
  type Principal,
  type Scope,
  SCOPES,
  Type,
} from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { connectFrame, connectRaw, openRaw } from "../raw-socket.ts";
import { methods } from "./samples.ts";

/** Spec: protocol/authorization.md §3, rows of methods that exist here. */
const SPECIFIED: Readonly<Record<Scope, string>> = {
  "operator.read":
    "status models.list agents.list agent.identity.get agents.files.list agents.files.get sessions.list sessions.preview " +
    "sessions.resolve sessions.usage sessions.usage.timeseries sessions.usage.logs system-presence chat.history config.get",
  "operator.write": "agent agent.wait chat.send chat.abort",
  "operator.approvals": "",
  "operator.pairing": "",
  "operator.admin":
    "agents.create agents.update agents.delete agents.files.set sessions.patch sessions.reset sessions.delete " +
    "sessions.compact chat.inject config.set config.patch config.apply config.schema",
};
/** Choice: methods of ours that the specification does not know. */
const OURS: Readonly<Record<string, Scope>> = {
  "models.status": "operator.read",
  "models.test": "operator.write",
  "plugins.list": "operator.read",
  "plugins.reload": "operator.admin",
  "webhooks.list": "operator.read",
  "webhooks.check": "operator.read",
  "webhooks.runs": "operator.read",
  "webhooks.run": "operator.read",
  "webhooks.try": "operator.write",
  "webhooks.replay": "operator.admin",
  "webhooks.enable": "operator.admin",
  "webhooks.disable": "operator.admin",
  "webhooks.init": "operator.admin",
};

const required = new Map<string, Scope | "none">([["health", "none"], ...Object.entries(OURS)]);
for (const [scope, names] of Object.entries(SPECIFIED))
  for (const name of names.split(" ").filter(Boolean)) required.set(name, scope as Scope);

/** Admin covers all, write covers read, everything else only itself. Spec: authorization.md §1. */
function covers(held: readonly string[], wanted: Scope | "none"): boolean {
  if (wanted === "none" || held.includes("operator.admin") || held.includes(wanted)) return true;
  return wanted === "operator.read" && held.includes("operator.write");
}

const SETS: readonly (readonly string[])[] = [
  [],
  ...SCOPES.map((scope) => [scope]),
  ["operator.read", "operator.approvals"],
  ["operator.pairing", "operator.write"],
  ["operator", "*", "operator.*", "OPERATOR.ADMIN", "operator.admin "],
  ["admin"],
];

/** What a call with these params came to: only whether it got past the scope. */
function verdict(thrown: unknown): string {
  const { code, message } = thrown as GatewayError;
  return message.startsWith("missing scope") ? `${code} ${message}` : "past the scope";
}

function expected(name: string, held: readonly string[]): string {
  const wanted = required.get(name) ?? "operator.admin";
  const scopes = held.map((scope) => (scope === "admin" ? "operator.admin" : scope));
  return covers(scopes, wanted) ? "past the scope" : `INVALID_REQUEST missing scope: ${wanted}`;
}

const Named = Type.Object({ name: Type.String() });
const relay = defineContract("relay", {
  call: { summary: "-", scope: "none", role: "any", params: Named, result: Type.Unknown() },
  forge: { summary: "-", scope: "none", role: "any", params: Named, result: Type.Unknown() },
});
/** Calls any method for whoever asks, and for somebody it made up. */
const relayPlugin = definePlugin({
  id: "relay",
  api: "^1.0.0",
  setup(gateway) {
    const call = (name: string, principal: Principal) =>
      gateway.call(methods[name] as Method, [] as never, { principal });
    gateway.serve(relay, {
      call: ({ params, principal }) => call(params.name, principal),
      forge: ({ params, principal }) => call(params.name, { ...principal, scopes: [...SCOPES] }),
    });
  },
});

describe("the method x scope matrix", () => {
  it("names every method of the bundle", () => {
    assert.deepEqual([...required.keys()].toSorted(), Object.keys(methods).toSorted());
  });

  for (const held of SETS) {
    it(`over WebSocket with [${held.join()}]`, async (t) => {
      const { connect } = await testGateway(t);
      const client = await connect({ scopes: held });
      for (const name of Object.keys(methods)) {
        // Params are judged behind the scope, so wrong ones change nothing and tell which of the two refused.
        const outcome = await client.request(name, []).then(() => "past the scope", verdict);
        assert.equal(outcome, expected(name, held), name);
      }
    });

    it(`from a plugin that acts for a caller with [${held.join()}]`, async (t) => {
      const { connect } = await testGateway(t, { plugins: [relayPlugin, ...BUNDLE] });
      const client = await connect({ scopes: held });
      for (const name of Object.keys(methods)) {
        const outcome = await client.call(relay.call, { name }).then(() => "past the scope", verdict);
        assert.equal(outcome, expected(name, held), name);
      }
    });
  }

  it("a principal that a plugin made up may do no more than the plugin", async (t) => {
    const { connect } = await testGateway(t, { plugins: [relayPlugin, ...BUNDLE] });
    const client = await connect({ scopes: ["operator.admin"] });
    for (const name of Object.keys(methods)) {
      const outcome = await client.call(relay.forge, { name }).then(() => "past the scope", verdict);
      assert.equal(outcome, expected(name, []), name);
    }
  });

  it("a node may call nothing of it but health", async (t) => {
    const node = definePlugin({
      id: "nodes-in",
      api: "^1.0.0",
      setup: (gateway) => gateway.hooks.authenticate.tap("all", () => ({ id: "device:x", scopes: [...SCOPES] })),
    });
    const { gateway } = await testGateway(t, { plugins: [node, ...BUNDLE] });
    const { deviceConnect } = await import("../device.ts");
    const names = Object.keys(methods);
    // Eleven refusals in a row close the connection, so each gets one of its own.
    for (let from = 0; from < names.length; from += 10) {
      const socket = await openRaw(gateway.url);
      socket.send(deviceConnect(socket, { role: "node", scopes: ["operator.admin"], token: gateway.auth.token }));
      await socket.next(({ id, ok }) => id === "c1" && ok === true);
      for (const name of names.slice(from, from + 10)) {
        socket.send({ type: "req", id: name, method: name, params: {} });
        const { ok, error } = await socket.next(({ id }) => id === name);
        if (name === "health") assert.equal(ok, true);
        else assert.equal(error?.message, "unauthorized role: node", name);
      }
      socket.ws.close();
    }
  });
});

const BUNDLE = [
  "agents",
  "chat",
  "config",
  "health",
  "models",
  "plugins",
  "provider-offline",
  "sessions",
  "storage-sqlite",
  "webhooks",
];

describe("the first frame", () => {
  const notConnect = [
    ...Object.keys(methods).map((method) => ({ type: "req", id: "c1", method, params: {} })),
    { type: "req", id: "c1", method: "Connect", params: {} },
    { type: "req", id: "c1", method: "connect ", params: {} },
    { type: "req", id: "c1", method: "tools.invoke" },
  ];
  const notFrames = [
    "null",
    "[]",
    "{}",
    "1",
    '"connect"',
    '{"type":"req"}',
    '{"type":"req","id":"c1"}',
    '{"type":"req","id":"","method":"connect"}',
    '{"type":"res","id":"c1","ok":true}',
    '{"type":"event","event":"tick"}',
    '{"type":"req","id":1,"method":"connect"}',
    '{"type":"req","id":"c1","method":"connect","extra":1}',
    '{"type":"req","id":"c1","method":["connect"]}',
  ];

  it("of any other method is refused, and none of it runs", async (t) => {
    const { gateway } = await testGateway(t);
    for (const frame of notConnect) {
      const socket = await openRaw(gateway.url);
      socket.send(frame);
      const { error } = await socket.next(({ id }) => id === "c1");
      assert.equal(error?.message, "invalid handshake: first request must be connect", frame.method);
      assert.deepEqual(await socket.closed, { code: 1008, reason: "invalid handshake: first request must be connect" });
    }
  });

  it("that is no request frame closes without an answer", async (t) => {
    const { gateway } = await testGateway(t);
    for (const text of notFrames) {
      const socket = await openRaw(gateway.url);
      socket.send(text);
      assert.deepEqual(await socket.closed, { code: 1008, reason: "invalid request frame" }, text);
      assert.equal(socket.frames.length, 1, `${text}: only the challenge`);
    }
  });

  it("with an empty or odd credential is refused in every mode", async (t) => {
    const odd = [undefined, "", " ", "\t", "*", "null", "undefined", "0", "\u0000", "Bearer"];
    for (const auth of [
      { mode: "token", token: "right" },
      { mode: "password", password: "right" },
    ]) {
      const { gateway } = await testGateway(t, { plugins: ["health"], config: { gateway: { auth } } });
      for (const value of odd) {
        for (const field of ["token", "password", "deviceToken"]) {
          const socket = await openRaw(gateway.url);
          socket.send(connectFrame(undefined, value === undefined ? {} : { auth: { [field]: value } }));
          const { ok } = await socket.next(({ id }) => id === "c1");
          assert.equal(ok, false, `${auth.mode}: ${field}=${JSON.stringify(value)}`);
          assert.equal((await socket.closed).code, 1008);
        }
      }
      (await connectRaw(gateway.url, "right")).ws.close();
    }
  });
});
