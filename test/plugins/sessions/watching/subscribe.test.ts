/** `sessions.subscribe` and the event `sessions.changed`. Spec: protocol 4 §3. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { PayloadOf } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import { sessions, sessionsChanged, sessionsWatch } from "@svc/sdk/sessions";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import { withoutPostgres } from "../../../postgres.ts";
import { publishedViolations } from "../../../published.ts";
import { until } from "../../../until.ts";
import { twoGateways } from "../../two-gateways.ts";

const PLUGINS = ["storage-sqlite", "sessions", "agents", "chat", "models", "provider-offline"];
const KEY = "agent:main:watched";
const limited = { timeout: 120_000 };

type Client = Awaited<ReturnType<TestGateway["connect"]>>;
type Told = PayloadOf<typeof sessionsChanged>;

/** What a client is told from now on. */
function listen(client: Client): Told[] {
  const told: Told[] = [];
  client.onEvent(({ event, payload }) => {
    if (event === "sessions.changed") told.push(payload as Told);
  });
  return told;
}

async function subscribed(t: TestContext) {
  const { connect } = await testGateway(t, { plugins: PLUGINS });
  const [watcher, other] = [await connect(), await connect()];
  const [told, toldOther] = [listen(watcher), listen(other)];
  await watcher.call(sessionsWatch.subscribe, {});
  return { watcher, other, told, toldOther };
}

const of = (told: readonly Told[], reason: string) => told.find((one) => one.reason === reason);

describe("sessions.subscribe", limited, () => {
  it("tells about created, changed, reset and deleted sessions, with the row of sessions.list", async (t) => {
    const { watcher, other, told, toldOther } = await subscribed(t);
    const steps: readonly (readonly [reason: string, () => Promise<unknown>])[] = [
      ["create", () => other.call(sessions.patch, { key: KEY, label: "Watched" })],
      ["patch", () => other.call(sessions.patch, { key: KEY, verboseLevel: "on" })],
      ["reset", () => other.call(sessions.reset, { key: KEY })],
    ];
    for (const [reason, step] of steps) {
      told.length = 0;
      await step();
      await until(() => told.length > 0, reason);
      const params = { key: KEY, includeDerivedTitles: true, includeLastMessage: true };
      const { sessions: rows } = await watcher.call(sessions.list, params);
      const { ts, session, ...rest } = told[0] ?? assert.fail();
      assert.deepEqual(rest, { sessionKey: KEY, agentId: "main", reason });
      assert.ok(Math.abs(ts - Date.now()) < 60_000);
      assert.deepEqual(stable(session), stable(rows[0]));
      assert.deepEqual(publishedViolations("SessionRow", session), []);
    }
    told.length = 0;
    await other.call(sessions.delete, { key: KEY });
    await until(() => told.length > 0, "the deletion");
    const { ts: _, ...rest } = told[0] ?? assert.fail();
    assert.deepEqual(rest, { sessionKey: KEY, agentId: "main", reason: "delete" });
    assert.deepEqual(toldOther, [], "a connection that did not ask");
  });

  it("tells when a run begins and ends, and merges what changes within 200 ms", async (t) => {
    const { other, told } = await subscribed(t);
    const idempotencyKey = "run-1";
    await other.call(chat.send, { sessionKey: KEY, message: `echo ${"word ".repeat(150)}`, idempotencyKey });
    await until(() => told.some(({ phase }) => phase === "end"), "the end of the run");
    const start = told.find(({ phase }) => phase === "start");
    assert.deepEqual([start?.reason, start?.runId], ["run", idempotencyKey]);
    assert.equal(start?.session?.hasActiveRun, true);
    const end = told.at(-1);
    assert.equal(end?.session?.hasActiveRun, undefined);
    assert.match(String(end?.session?.lastMessagePreview), /^word/);
    assert.ok(told.length < 10, `${told.length} events for one run`);
  });

  it("returns the first page of the list with params, and none without", async (t) => {
    const { watcher, other } = await subscribed(t);
    await other.call(sessions.patch, { key: KEY, label: "Watched" });
    const { list } = await watcher.call(sessionsWatch.subscribe, { limit: 1, includeDerivedTitles: true });
    const read = await watcher.call(sessions.list, { limit: 1, includeDerivedTitles: true });
    assert.deepEqual(stable(list), stable(read));
    assert.deepEqual(await watcher.call(sessionsWatch.subscribe, {}), { subscribed: true });
  });

  it("tells nothing more after sessions.unsubscribe, nor to a new connection that has not asked", async (t) => {
    const { watcher, other, told } = await subscribed(t);
    assert.deepEqual(await watcher.call(sessionsWatch.unsubscribe, {}), { subscribed: false });
    await other.call(sessions.patch, { key: KEY, label: "Watched" });
    await pause(600);
    assert.deepEqual(told, []);
  });

  it("says that many changed instead of more than a hundred rows", async (t) => {
    const { other, told } = await subscribed(t);
    const keys = Array.from({ length: 150 }, (_, index) => `${KEY}-${index}`);
    for (let from = 0; from < keys.length; from += 50)
      await Promise.all(
        keys.slice(from, from + 50).map((key) => other.call(sessions.patch, { key, verboseLevel: "on" })),
      );
    await until(() => of(told, "many") !== undefined || told.length >= 150, "the changes");
    for (const { sessionKey, session, reason } of told)
      assert.equal(sessionKey === undefined, reason === "many" && session === undefined);
  });
});

describe("sessions.subscribe on two gateways", { ...limited, skip: withoutPostgres() }, () => {
  it("tells about sessions that change on the other one", async (t) => {
    const [here, there] = await twoGateways(t, { plugins: PLUGINS });
    const watcher = await here.connect();
    const told = listen(watcher);
    await watcher.call(sessionsWatch.subscribe, {});
    await there.client.call(sessions.patch, { key: KEY, label: "Watched" });
    await until(() => of(told, "create") !== undefined, "the other gateway's session");
    await there.client.call(chat.send, { sessionKey: KEY, message: "echo hi", idempotencyKey: "there-1" });
    await until(() => told.some(({ phase }) => phase === "end"), "the other gateway's run");
    await there.client.call(sessions.delete, { key: KEY });
    await until(() => of(told, "delete") !== undefined, "the deletion");
  });
});

/** Without the time of the answer. */
function stable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (key === "ts" || key === "snapshotAt" ? 0 : inner)));
}
