/** The plugin in a gateway with channels and clients: how heartbeats appear to people, panels and in the transcript. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type PayloadOf } from "@svc/sdk";
import { chatEvent } from "@svc/sdk/chat";
import { health } from "@svc/sdk/health";
import { heartbeat, heartbeatEvent, type HeartbeatReport, Heartbeats, SystemEvents } from "@svc/sdk/heartbeat";
import { textOf } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { pigeon } from "../channels/pigeon.ts";
import { MAIN, type SceneOptions, until } from "../webhook-scene.ts";

const PLUGINS = [
  "storage-sqlite",
  "sessions",
  "models",
  "provider-openai",
  "tools",
  "agents",
  "channels",
  "chat",
  "health",
  "heartbeat",
];

async function open(t: TestContext, settings: object, replies: NonNullable<SceneOptions["replies"]>) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  const post = pigeon();
  const found: { sessions?: Sessions; events?: SystemEvents; hearts?: Heartbeats } = {};
  let ready = () => {};
  const isReady = new Promise<void>((resolve) => (ready = resolve));
  const probe = definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires: { sessions: Sessions, events: SystemEvents, hearts: Heartbeats },
    setup(gateway) {
      gateway.start(() => void Object.assign(found, gateway.services));
      gateway.hooks.hostReady.tap(() => ready()); // the last plugin: heartbeats are open by then
    },
  });
  const { client, gateway } = await testGateway(t, {
    plugins: [...PLUGINS, post.plugin, probe],
    config: {
      models: { providers: { fake: { baseUrl: server.url, models: [{ id: "gpt-x" }] } } },
      agents: { defaults: { model: "fake/gpt-x", skipBootstrap: true, heartbeat: settings } },
    },
  });
  await isReady;
  const { sessions, events, hearts } = found;
  assert.ok(sessions && events && hearts, JSON.stringify(gateway.plugins()));
  const reports: HeartbeatReport[] = [];
  const chats: PayloadOf<typeof chatEvent>[] = [];
  client.on(heartbeatEvent, (report) => void reports.push(report));
  client.on(chatEvent, (chat) => void chats.push(chat));
  const reported = (status: string, count = 1) =>
    until(() => reports.filter((report) => report.status === status).length >= count, `${count} ${status}`);
  const outline = async () =>
    (await sessions.transcript(MAIN, 100)).map(({ message }) => `${message.role}: ${textOf(message).split("\n")[0]}`);
  return { client, server, post, sessions, events, hearts, reports, chats, reported, outline };
}

describe("heartbeats of a gateway", { timeout: 120_000 }, () => {
  it("leave no trace without news, and send an alert only once", async (t) => {
    const replies = [{ text: "HEARTBEAT_OK" }, { text: "The plants are dry." }, { text: "The plants are dry." }];
    const scene = await open(t, { every: "1h", target: "pigeon", to: "ann", prompt: "Look." }, replies);
    const { client, sessions, post, reports, chats } = scene;
    assert.equal(await client.call(heartbeat.last, {}), null);
    scene.hearts.request({ reason: "manual" });
    await scene.reported("ok-token");
    assert.deepEqual(await scene.outline(), []);
    scene.hearts.request({ reason: "manual", agentId: "main" });
    await scene.reported("sent");
    assert.deepEqual(post.sent, [{ account: "default", to: "ann", text: "The plants are dry." }]);
    assert.deepEqual(await scene.outline(), ["user: Look.", "assistant: The plants are dry."]);
    const kept = await sessions.get(MAIN);
    scene.hearts.request({ reason: "manual", sessionKey: MAIN });
    await scene.reported("skipped");
    const last = await client.call(heartbeat.last, {});
    assert.deepEqual([last?.status, last?.reason, last?.preview], ["skipped", "duplicate", "The plants are dry."]);
    assert.deepEqual(await scene.outline(), ["user: Look.", "assistant: The plants are dry."]);
    const now = await sessions.get(MAIN);
    assert.deepEqual([now?.updatedAt, now?.["lastHeartbeatText"]], [kept?.updatedAt, "The plants are dry."]);
    assert.equal(reports.find(({ status }) => status === "sent")?.channel, "pigeon");
    assert.deepEqual(
      chats.map(({ state, message }) => [state, message?.content[0]?.text]),
      [
        ["final", undefined],
        ["final", "The plants are dry."],
        ["final", undefined],
      ],
      "a hidden run has no deltas, and no text where it said nothing",
    );
    const shown = async () => (await client.call(health.check, { probe: true })).heartbeatSeconds;
    assert.equal(await shown(), 3_600);
    assert.deepEqual(await client.call(heartbeat.set, { enabled: false }), { ok: true, enabled: false });
    assert.equal(await shown(), 0);
  });

  it("run at their interval, and report events to the main session", async (t) => {
    const scene = await open(t, { every: "1s" }, ({ body }) => ({
      text: JSON.stringify(body).includes("Rain") ? "Noted." : "HEARTBEAT_OK",
    }));
    const { client, events, server } = scene;
    await client.call(heartbeat.set, { enabled: false });
    assert.deepEqual(await client.call(heartbeat.wake, { mode: "now", text: "  " }), { ok: false });
    const report = { text: "Node: desk (10.0.0.7) · app 2 · mode ui · reason launch" };
    assert.deepEqual(await client.request("system-event", { ...report, deviceFamily: "Desk" }), { ok: true });
    const again = { text: "Node: desk (10.0.0.7) · app 2 · mode ui · reason periodic" };
    await client.call(health.event, again);
    await assert.rejects(client.call(health.event, { text: " " }), { code: "INVALID_REQUEST" });
    const waiting = await events.waiting(MAIN);
    assert.deepEqual(
      waiting.map(({ text, wake }) => [text, wake]),
      [[report.text, "next-heartbeat"]],
    );
    const entry = (await client.call(health.presence, {})).find(({ host }) => host === "desk");
    const { ip, version, reason, deviceFamily } = entry ?? {};
    assert.deepEqual([ip, version, reason, deviceFamily], ["10.0.0.7", "2", "periodic", "Desk"]);
    const status = (await client.call(health.status, {})) as { queuedSystemEvents?: unknown };
    assert.deepEqual(status.queuedSystemEvents, [report.text]);
    assert.deepEqual(await client.call(heartbeat.wake, { mode: "next-heartbeat", text: "Rain" }), { ok: true });
    await client.call(heartbeat.set, { enabled: true });
    await until(() => scene.reports.some(({ reason }) => reason === "no-target"), "the report");
    assert.match(JSON.stringify(server.requests.map(({ body }) => body)), /Node: desk[^]*Rain/);
    assert.deepEqual(await events.waiting(MAIN), []);
  });
});
