/**
 * Each hook fires exactly once on every path that should fire it, and on no other.
 * A plugin that adds a path or a hook adds a row here.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { defineContract, defineEvent, definePlugin, HOOKS, invalidRequest, Type } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { nodes } from "@svc/sdk/nodes";
import { sessions } from "@svc/sdk/sessions";
import { createHookProbe, type HookProbe, type TestGateway, testGateway } from "@svc/sdk/testing";
import { WebhookAction } from "@svc/sdk/webhooks";
import { deviceConnect } from "../device.ts";
import { openRaw } from "../raw-socket.ts";
import { until } from "../until.ts";
import { connectNode } from "./attendance.ts";
import { fileGateway } from "./file-gateway.ts";

const write = { summary: "-", scope: "operator.write" } as const;
const Told = Type.Object({ to: Type.Enum(["all", "me", "nobody", "a copy"]) });
const notes = defineContract("notes", {
  add: { ...write, params: Type.Object({ text: Type.String() }), result: Type.Object({ n: Type.Integer() }) },
  tell: { ...write, params: Told, result: Type.Object({}) },
});
const said = defineEvent({ name: "notes.said", summary: "-", payload: Type.Object({}) });
const caller = definePlugin({
  id: "notes",
  api: "^1.0.0",
  setup(gateway) {
    const tell = gateway.event(said);
    gateway.serve(notes, {
      add: ({ params }) => ({ n: params.text.length }),
      tell({ params, connection }) {
        const me = connection ? [connection.id] : [];
        if (params.to === "all") tell({});
        else if (params.to === "a copy") gateway.forward(said, {}, me);
        else tell({}, { connections: params.to === "me" ? me : [] });
        return {};
      },
    });
    const route = { auth: "gateway", ...write } as const;
    gateway.route({
      ...route,
      method: "POST",
      path: "/plugins/notes/inside",
      handler: async ({ principal }) => ({
        body: await gateway.call(notes.add, { text: "x" }, principal ? { principal } : {}),
      }),
    });
    gateway.route({ ...route, method: "GET", path: "/plugins/notes/plain", handler: () => ({ body: {} }) });
    const prepare = () => ({ params: {} });
    const common = { summary: "-", direct: true, fields: Type.Object({}), prepare };
    gateway.extend(WebhookAction, "jot", { ...common, commit: () => [] });
    gateway.extend(WebhookAction, "errand", { ...common, run: async () => {} });
    gateway.extend(WebhookAction, "hopeless", { ...common, run: () => invalidRequest("it cannot be done") });
  },
});

const HOOK_TOKEN = "hook-token-of-the-test";
const HOOKS_SECTION = {
  enabled: true,
  token: HOOK_TOKEN,
  mappings: [
    { id: "skipped", match: { path: "skip" }, action: "jot", transform: { module: "skip.mjs" } },
    { id: "ci", match: { path: "ci" }, action: "jot" },
  ],
};

interface Running extends TestGateway {
  readonly probe: HookProbe;
}

async function start(t: TestContext): Promise<Running> {
  const keys = {
    rpcParams: ["notes.add"],
    rpcBefore: ["notes.add"],
    rpcResult: ["notes.add"],
    toolParams: ["session_status"],
    toolBefore: ["session_status"],
    toolResult: ["session_status"],
    webhookTransform: ["ci", "skipped", "jot"],
    webhookBefore: ["ci", "skipped", "jot", "errand", "hopeless"],
    eventPublished: ["notes.said"],
  };
  const probe = createHookProbe(keys);
  const bundled = ["storage-sqlite", "sessions", "models", "provider-offline", "tools", "agents", "chat", "webhooks"];
  const plugins = [...bundled, caller, probe.plugin];
  const stateDir = await mkdtemp(join(tmpdir(), "svc-hooks-"));
  await mkdir(join(stateDir, "hooks/transforms"), { recursive: true });
  await writeFile(join(stateDir, "hooks/transforms/skip.mjs"), "export default () => null;");
  const config = { "provider-offline": { wordDelayMs: 0 }, hooks: HOOKS_SECTION };
  const running = await testGateway(t, { plugins, config, stateDir });
  t.after(() => rm(stateDir, { recursive: true, force: true })); // after the gateway was stopped
  await settle();
  probe.reset();
  return { ...running, probe };
}

/** Observers run after the response. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

const http = ({ gateway }: Running) => gateway.url.replace("ws", "http");
const bearer = ({ gateway }: Running) => ({ authorization: `Bearer ${gateway.auth.token}` });
let serial = 0;
const runId = () => `run-${++serial}`;

/** Connects with a proof of the device's key. */
async function connectDevice({ gateway }: Running, role: "operator" | "node"): Promise<void> {
  const socket = await openRaw(gateway.url);
  socket.send(deviceConnect(socket, { role, token: gateway.auth.token }));
  await socket.next(({ id }) => id === "c1");
}

/** Publishes an event, and checks that it arrives the expected number of times. */
async function tell({ client }: Running, to: "all" | "me" | "nobody" | "a copy", times: number): Promise<void> {
  let came = 0;
  const stop = client.on(said, () => came++);
  await client.call(notes.tell, { to });
  await settle();
  stop();
  assert.equal(came, times);
}

/** Runs the agent and waits for its end. */
async function talk({ client }: Running, message: string, sessionKey = "main"): Promise<void> {
  await client.call(agents.run, { message, sessionKey, idempotencyKey: runId() }, { expectFinal: true });
}

/** Posts a webhook and waits until the end of its run is reported. */
async function post(running: Running, path: string, headers: Record<string, string> = {}): Promise<void> {
  const request = { method: "POST", headers: { authorization: `Bearer ${HOOK_TOKEN}`, ...headers } };
  const answer = await fetch(`${http(running)}/hooks/${path}`, request);
  if (answer.status !== 200 || answer.headers.has("idempotent-replayed")) return;
  await until(() => (running.probe.fired()["webhookFinished"] ?? 0) > 0, "webhookFinished");
}

type Fires = Readonly<Record<string, number>>;

const ONE_CALL = { rpcAfter: 1 };
const RPC_KEYED = { "rpcParams(notes.add)": 1, "rpcBefore(notes.add)": 1, "rpcResult(notes.add)": 1 };
const BAD_PARAMS = { "rpcParams(notes.add)": 1 };
const TOOL = { "toolParams(session_status)": 1, "toolBefore(session_status)": 1, "toolResult(session_status)": 1 };
const SAID = { "eventPublished(notes.said)": 1 };
const DEVICE = { admitDevice: 1, deviceToken: 1 };
const CONNECT = { connectionOpened: 1, admit: 1, hello: 1, helloFields: 1, connectionReady: 1 };
const REFUSED = { connectionOpened: 1, connectionClosed: 1, authenticate: 1 };
const REQUEST = { httpRequest: 1 };
const RUN = { sessionStarted: 1, runBefore: 1, runPrompt: 1, modelRequest: 1, runFinished: 1 };
const TWO_STEPS = { ...RUN, modelRequest: 2 };
const RESET = { ...ONE_CALL, sessionReplacing: 1, sessionEnded: 1 };
const accepted = (name: string): Fires => ({ ...REQUEST, [`webhookBefore(${name})`]: 1, webhookAccept: 1 });
const MAPPED = { ...accepted("ci"), "webhookTransform(ci)": 1 };
const ENDED = { webhookFinished: 1 };

/** Forgets what fired before. */
async function forget({ probe }: Running): Promise<void> {
  await settle();
  probe.reset();
}

const get = (running: Running, path: string, headers: Record<string, string> = {}) =>
  fetch(`${http(running)}${path}`, { headers });

const failing = (walk: Promise<unknown>) => walk.catch(() => undefined);

type Path = [path: string, walk: (running: Running) => Promise<unknown>, fires: Fires, atLeast?: readonly string[]];

const paths: Path[] = [
  ["a connect", (running) => running.connect(), CONNECT],
  ["a connect and its close", async ({ connect }) => (await connect()).close(), { ...CONNECT, connectionClosed: 1 }],
  ["a refused connect", (running) => failing(running.connect({ token: "wrong" })), REFUSED],
  ["a connect with a device", (running) => connectDevice(running, "operator"), { ...CONNECT, ...DEVICE }],
  ["a connect of an unknown device", (running) => connectDevice(running, "node"), { ...REFUSED, pairing: 1 }],
  ["a call over WebSocket", ({ client }) => client.call(notes.add, { text: "x" }), { ...ONE_CALL, ...RPC_KEYED }],
  ["a call with bad params", ({ client }) => failing(client.request("notes.add", {})), { ...ONE_CALL, ...BAD_PARAMS }],
  ["a call of an unknown method", ({ client }) => failing(client.request("no.such")), ONE_CALL],
  ["an event for everyone", (running) => tell(running, "all", 1), { ...ONE_CALL, ...SAID }],
  ["an event for one connection", (running) => tell(running, "me", 1), { ...ONE_CALL, ...SAID }],
  ["an event without receivers", (running) => tell(running, "nobody", 0), { ...ONE_CALL, ...SAID }],
  ["a copy of an event", (running) => tell(running, "a copy", 1), ONE_CALL],
  ["an HTTP route", (running) => get(running, "/plugins/notes/plain", bearer(running)), REQUEST],
  [
    "an HTTP route that calls a method inside",
    (running) => fetch(`${http(running)}/plugins/notes/inside`, { method: "POST", headers: bearer(running) }),
    { ...REQUEST, ...ONE_CALL, ...RPC_KEYED },
  ],
  ["an HTTP path that is not served", (running) => get(running, "/nothing"), REQUEST],
  ["the liveness response", (running) => get(running, "/healthz"), {}],
  ["a run of a new session", (running) => talk(running, "echo hi"), { ...ONE_CALL, ...RUN }, ["runEvent"]],
  ["a run with a tool", (running) => talk(running, "status"), { ...ONE_CALL, ...TWO_STEPS, ...TOOL }, ["runEvent"]],
  [
    "a chat message",
    async ({ client }) => {
      const id = runId();
      await client.call(chat.send, { sessionKey: "main", message: "echo hi", idempotencyKey: id });
      await client.call(agents.wait, { runId: id });
    },
    { rpcAfter: 2, ...RUN },
    ["runEvent"],
  ],
  [
    "a reset",
    async (running) => {
      await talk(running, "echo hi");
      await forget(running);
      await running.client.call(sessions.reset, { key: "main" });
    },
    { ...RESET, sessionStarted: 1 },
  ],
  [
    "a deletion",
    async (running) => {
      await talk(running, "echo hi", "other");
      await forget(running);
      await running.client.call(sessions.delete, { key: "other" });
    },
    RESET,
  ],
  ["a webhook of a mapping", (running) => post(running, "ci"), { ...MAPPED, ...ENDED }],
  [
    "a webhook that is repeated",
    async (running) => {
      await post(running, "ci", { "idempotency-key": "one" });
      await forget(running);
      await post(running, "ci", { "idempotency-key": "one" });
    },
    MAPPED,
  ],
  ["a webhook for an action", (running) => post(running, "jot"), { ...accepted("jot"), ...ENDED }],
  ["a webhook that runs in the background", (running) => post(running, "errand"), { ...accepted("errand"), ...ENDED }],
  ["a webhook that fails for good", (running) => post(running, "hopeless"), { ...accepted("hopeless"), ...ENDED }],
  [
    "a sender that requests a run",
    (running) => get(running, "/hooks/runs/none", { authorization: `Bearer ${HOOK_TOKEN}` }),
    { ...REQUEST, webhookRun: 1 },
  ],
  ["a webhook that its transform skips", (running) => post(running, "skip"), { ...REQUEST, webhookTransformFile: 1 }],
  ["a webhook that no mapping accepts", (running) => post(running, "nothing"), REQUEST],
  ["a webhook with a wrong token", (running) => post(running, "ci", { authorization: "Bearer wrong" }), REQUEST],
];

/** Hooks that fire outside the paths above: tested separately below. */
const elsewhere =
  "hostReady hostStopping pluginState configValidate configChanged credentialsEnded nodeConnected nodeSpoke".split(" ");

describe("hooks fire exactly once", () => {
  for (const [path, walk, expected, atLeast = []] of paths) {
    it(`on ${path}`, async (t) => {
      const running = await start(t);
      await walk(running);
      const counts = () =>
        Object.fromEntries(Object.entries(running.probe.fired()).filter(([name]) => !atLeast.includes(name)));
      await until(() => isDeepStrictEqual(counts(), expected), "all hooks").catch(() => undefined);
      await settle(); // a further one would be one too many
      assert.deepEqual(counts(), expected);
      for (const name of atLeast) assert.ok((running.probe.fired()[name] ?? 0) > 0, `${name} did not fire`);
    });
  }

  it("on each event of a conversation", async (t) => {
    const probe = createHookProbe({ eventPublished: ["chat", "agent", "health", "tick"] }, ["eventPublished"]);
    const { client } = await testGateway(t, {
      plugins: ["storage-sqlite", "sessions", "models", "provider-offline", "agents", "chat", probe.plugin],
      config: { "provider-offline": { wordDelayMs: 0 } },
    });
    const came: Record<string, number> = {};
    client.onEvent(({ event }) => (came[`eventPublished(${event})`] = (came[`eventPublished(${event})`] ?? 0) + 1));
    const id = runId();
    await client.call(chat.send, { sessionKey: "main", message: "echo one two three", idempotencyKey: id });
    await client.call(agents.wait, { runId: id });
    await settle();
    const { "eventPublished(presence)": _, ...expected } = came; // not tapped here
    assert.deepEqual(probe.fired(), expected);
    assert.ok((came["eventPublished(chat)"] ?? 0) > 0);
    assert.ok((came["eventPublished(agent)"] ?? 0) > 0);
  });

  it("on a node that connects, and on each sentence that it hears", async (t) => {
    const probe = createHookProbe();
    const plugins = ["storage-sqlite", "devices", "nodes", "sessions", "models", "provider-offline", "agents"];
    const { gateway } = await testGateway(t, { plugins: [...plugins, probe.plugin] });
    const { url, auth } = gateway;
    const node = await connectNode({ url, token: auth.token });
    t.after(() => node.close());
    await until(() => probe.fired()["nodeConnected"] === 1, "nodeConnected");
    for (const text of ["hello", "hello", ""])
      await node.call(nodes.event, { event: "voice.transcript", payload: { text } });
    await until(() => probe.fired()["nodeSpoke"] === 1, "nodeSpoke");
    await settle();
    assert.deepEqual([probe.fired()["nodeConnected"], probe.fired()["nodeSpoke"]], [1, 1]);
  });

  it("at the start and at the stop", async (t) => {
    const probe = createHookProbe();
    const { gateway } = await testGateway(t, { plugins: [probe.plugin] });
    await settle();
    assert.equal(probe.fired()["hostReady"], 1);
    await gateway.stop();
    assert.equal(probe.fired()["hostStopping"], 1);
  });

  it("on a change of the configuration, written and edited by hand", async (t) => {
    const probe = createHookProbe();
    const { client, stateDir } = await fileGateway(t, "{}", { plugins: ["config", probe.plugin] });
    const { hash } = await client.call(config.get, {});
    probe.reset();
    await client.call(config.patch, { raw: "{ logging: { level: 'error' } }", baseHash: hash });
    assert.deepEqual([probe.fired()["configValidate"], probe.fired()["configChanged"]], [1, 1]);
    assert.equal(probe.fired()["credentialsEnded"], undefined);
    probe.reset();
    await writeFile(join(stateDir, "svc.json"), "{ logging: { level: 'warn' } }");
    while (!probe.fired()["configChanged"]) await settle();
    assert.deepEqual([probe.fired()["configValidate"], probe.fired()["configChanged"]], [1, 1]);
  });

  it("on the end of a credential", async (t) => {
    const probe = createHookProbe();
    const { client } = await fileGateway(t, "{}", { plugins: ["config", probe.plugin] });
    const { hash } = await client.call(config.get, {});
    const raw = "{ gateway: { auth: { token: 'another-token-of-this-test' } } }";
    await client.call(config.patch, { raw, baseHash: hash }).catch(() => undefined); // its own credential ends
    while (!probe.fired()["credentialsEnded"]) await settle();
    assert.equal(probe.fired()["credentialsEnded"], 1);
  });

  it("and every hook of the catalogue has a row", () => {
    const covered = new Set(
      paths
        .flatMap(([, , fires, atLeast = []]) => [...Object.keys(fires), ...atLeast])
        .map((label) => label.replace(/\(.*/, "")),
    );
    const missing = Object.keys(HOOKS).filter((name) => !covered.has(name) && !elsewhere.includes(name));
    assert.deepEqual(missing, []);
  });
});
