/** A conversation as clients of a running gateway see it, from the message to its row in the history. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { PayloadOf } from "@svc/sdk";
import { type agentEvent, agents } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { publishedViolations } from "../../published.ts";
import { connectRaw } from "../../raw-socket.ts";
import { until } from "../../until.ts";

const PLUGINS = ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents", "chat", "commands"];

type AgentPayload = PayloadOf<typeof agentEvent>;

it("shows messages with their identity, which no model is sent", { timeout: 120_000 }, async (t) => {
  const model = await startFakeModelServer();
  t.after(() => model.close());
  const { client, gateway } = await testGateway(t, {
    plugins: PLUGINS,
    config: {
      gateway: { aliases: ["openclaw"] },
      models: { providers: { fake: { baseUrl: model.url, models: [{ id: "m" }] } } },
      agents: { defaults: { model: "fake/m", skipBootstrap: true } },
    },
  });
  const shown: PayloadOf<typeof chatEvent>[] = [];
  client.on(chatEvent, (payload) => void shown.push(payload));
  const newer = await connectRaw(gateway.url, gateway.auth.token, { minProtocol: 4, maxProtocol: 4 });
  t.after(() => newer.ws.close());

  const fresh = await client.call(chat.startup, { sessionKey: "main" });
  assert.deepEqual([fresh.messages, fresh.hasMore, fresh.sessionInfo], [[], false, undefined]);
  for (const idempotencyKey of ["r1", "r2"]) {
    await client.call(chat.send, { sessionKey: "main", message: "hello", idempotencyKey });
    assert.equal((await client.call(agents.wait, { runId: idempotencyKey })).status, "ok");
  }
  await until(() => shown.filter(({ state }) => state === "final").length === 2);

  const { messages, ...opened } = await client.call(chat.startup, { sessionKey: "main", inputRunIds: ["r2"] });
  const rows = messages as Record<string, { id: string; seq: number } & string>[];
  assert.deepEqual(
    rows.map((row) => [row["role"], row["idempotencyKey"], row["__openclaw"]?.seq, row["__svc"]?.seq]),
    [
      ["user", "r1:user", 1, 1],
      ["assistant", undefined, 2, 2],
      ["user", "r2:user", 3, 3],
      ["assistant", undefined, 4, 4],
    ],
  );
  const consumedByEventId = rows[2]?.["__svc"]?.id;
  assert.deepEqual(opened.inputReceipts, [{ runId: "r2", state: "consumed", consumedByEventId }]);
  assert.deepEqual([opened.totalMessages, opened.hasMore, opened.activeRuns], [4, false, []]);
  assert.deepEqual([opened.defaults?.modelProvider, opened.defaults?.model], ["fake", "m"]);
  assert.deepEqual(publishedViolations("SessionRow", opened.sessionInfo), []);
  assert.equal(opened.sessionInfo?.sessionId, opened.sessionId);

  const older = await client.call(chat.history, { sessionKey: "main", limit: 1, offset: 3 });
  assert.deepEqual([older.messages, older.hasMore, older.totalMessages], [[messages[0]], false, 4]);
  const newest = await client.call(chat.history, { sessionKey: "main", limit: 3 });
  assert.deepEqual([newest.hasMore, newest.nextOffset], [true, 3]);
  const around = await client.call(chat.history, {
    sessionKey: "main",
    limit: 2,
    messageId: rows[1]?.["__svc"]?.id ?? "",
  });
  assert.deepEqual([around.messages, around.offset], [messages.slice(1, 3), 1]);

  const menus = await client.call(chat.metadata, {});
  assert.ok(menus.models.some(({ id }) => id === "m") && menus.commands.some(({ name }) => name === "new"));
  assert.doesNotMatch(JSON.stringify(model.requests.map(({ body }) => body)), /:user|idempotencyKey/);
  await until(() => newer.frames.filter(({ payload }) => payload?.["state"] === "final").length === 2);
  const steps = newer.frames
    .filter(({ event }) => event === "agent")
    .map(({ payload }) => payload as unknown as AgentPayload);
  for (const payload of steps) assert.deepEqual(publishedViolations("AgentEvent", payload), []);
  const mine = steps.filter(({ runId }) => runId === "r2");
  assert.deepEqual(
    mine.filter(({ stream }) => stream === "lifecycle").map(({ data }) => Object(data).phase),
    ["start", "end"],
  );
  assert.equal(mine.at(-1)?.sessionId, opened.sessionId);
});
