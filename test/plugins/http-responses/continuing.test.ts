/** Continuing earlier responses: the last one, an earlier one, concurrently, after a restart; and by which principals. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createResponseStore, STEPS, KEEP_MS } from "../../../plugins/http-responses/store.ts";
import { openScene, type Scene, sharedScene, shown } from "./scene.ts";

const limited = { timeout: 120_000 };

/** Sends a request and returns the id of the response. */
async function said(
  scene: Scene,
  input: string,
  previous?: string,
  more: object = {},
  headers: Record<string, string> = {},
) {
  const previousId = previous === undefined ? {} : { previous_response_id: previous };
  const { status, json, text } = await scene.send({ model: "svc", input, ...previousId, ...more }, headers);
  assert.equal(status, 200, text);
  return json.id;
}

async function refusal(scene: Scene, previous: string, headers: Record<string, string> = {}) {
  const { status, json } = await scene.send({ model: "svc", input: "x", previous_response_id: previous }, headers);
  assert.equal(status, 400);
  return json.error as { message: string; code: string | null };
}

describe("previous_response_id", limited, () => {
  const shared = sharedScene();

  it("continues in the session of that response, whatever agent the request names", async () => {
    const scene = shared();
    const first = await said(scene, "one", undefined, { model: "svc:other", user: "ada" });
    await said(scene, "two", first, { model: "svc" });
    assert.deepEqual(shown(scene), ["user: one", "assistant: one", "user: two"]);
    assert.equal((await scene.keys())[0], "agent:other:openresponses-user:ada");
  });

  it("continues an earlier response in a new session", async () => {
    const scene = shared();
    const before = (await scene.keys()).length;
    const first = await said(scene, "one");
    const second = await said(scene, "two", first);
    const branch = await said(scene, "other", first);
    assert.deepEqual(shown(scene), ["user: one", "assistant: one", "user: other"]);
    await said(scene, "three", second);
    assert.deepEqual(shown(scene), ["user: one", "assistant: one", "user: two", "assistant: two", "user: three"]);
    await said(scene, "again", branch);
    assert.deepEqual(shown(scene), ["user: one", "assistant: one", "user: other", "assistant: other", "user: again"]);
    assert.equal((await scene.keys()).length, before + 2);
  });

  it("continues twice concurrently", async () => {
    const scene = shared();
    const first = await said(scene, "one");
    await Promise.all([said(scene, "a", first), said(scene, "b", first)]);
    const both = [shown(scene, -1), shown(scene, -2)].sort((one, other) => String(one).localeCompare(String(other)));
    assert.deepEqual(both, [
      ["user: one", "assistant: one", "user: a"],
      ["user: one", "assistant: one", "user: b"],
    ]);
  });

  it("answers calls from the middle of a conversation", async () => {
    const call = { id: "c1", name: "weather", arguments: {} };
    const scene = shared();
    scene.reply({ toolCalls: [call] });
    const tools = [{ type: "function", name: "weather" }];
    const first = await said(scene, "one", undefined, { tools });
    const answers = (output: string) => ({ input: [{ type: "function_call_output", call_id: "c1", output }] });
    for (const output of ["snow", "rain"]) {
      scene.reply({ text: "fine" });
      await said(scene, "", first, answers(output));
      assert.deepEqual(shown(scene), ["user: one", "assistant:  <c1>", `tool: ${output}`]);
    }
  });

  it("holds in the session a header names, while nothing else was said there", async () => {
    const scene = shared();
    const headers = { "x-svc-session-key": "agent:main:notes" };
    const first = await said(scene, "one", undefined, {}, headers);
    const other = { "x-svc-session-key": "agent:main:other" };
    assert.match(
      (await refusal(scene, first, other)).message,
      /belongs to another session than x-svc-session-key names/,
    );
    await said(scene, "two", first, {}, headers);
    assert.match((await refusal(scene, first, headers)).message, /its session has newer messages/);
  });

  it("continues after a restart of the gateway, but not after a restart of the session", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-responses-"));
    t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
    const before = await openScene(t, { stateDir });
    const first = await said(before, "one");
    await before.gateway.stop();
    const scene = await openScene(t, { stateDir, config: { session: { reset: { mode: "idle", idleMinutes: 1 } } } });
    const second = await said(scene, "two", first);
    assert.deepEqual(shown(scene), ["user: one", "assistant: one", "user: two"]);
    const [key = ""] = await scene.keys();
    await scene.sessions.update(key, { updatedAt: Date.now() - 600_000 });
    const third = await said(scene, "three", second);
    assert.equal(shown(scene).length, 5);
    await scene.sessions.reset(key, "reset");
    assert.equal((await refusal(scene, third)).code, "previous_response_not_found");
  });

  it("is refused with the same error for other principals, and for unstored or expired responses", async () => {
    const scene = shared();
    const { storage, send } = scene;
    const ids = [await said(scene, "a"), await said(scene, "b"), await said(scene, "c", undefined, { store: false })];
    const [theirs = "", old = ""] = ids;
    const change = (column: string, value: string | number, id: string) =>
      storage.transaction([
        { sql: `UPDATE http_responses SET ${column} = ? WHERE id = ?`, params: [value, id], expectChanges: 1 },
      ]);
    await change("principal", "somebody", theirs);
    await change("created_at", Date.now() - KEEP_MS - 1, old);
    for (const id of [...ids, "resp_none"]) {
      const { code, message } = await refusal(scene, id);
      assert.deepEqual(
        [code, message.replace(id, "X")],
        ["previous_response_not_found", "previous_response_id: no response X that can be continued"],
      );
      for (const method of ["GET", "DELETE"]) {
        const { status, json } = await send(undefined, {}, `/${id}`, method);
        assert.deepEqual([status, json.error.message], [404, `no response ${id}`]);
      }
    }
    const left = await storage.all("SELECT id FROM http_responses WHERE id IN (?, ?, ?)", ids);
    assert.equal(left.length, 2, "nobody deletes what is not theirs");
  });

  it("is refused with more than what is new", async () => {
    const scene = shared();
    const first = await said(scene, "one");
    const input = [
      { role: "assistant", content: "x" },
      { role: "user", content: "y" },
    ];
    const { status, json } = await scene.send({ model: "svc", input, previous_response_id: first });
    assert.deepEqual([status, json.error.param], [400, "input"]);
  });
});

describe("a kept response", limited, () => {
  const shared = sharedScene();

  it("is gone after 30 days", async () => {
    const { storage } = shared();
    await storage.migrate("http-responses", STEPS);
    const at = (now: number) => createResponseStore(storage, () => now);
    await at(0).keep({
      id: "old",
      principal: "p",
      sessionKey: "k",
      sessionId: "s",
      answeredAt: 1,
      createdAt: 0,
      body: {},
    });
    assert.notEqual(await at(KEEP_MS - 1).find("old", "p"), undefined);
    assert.equal(await at(KEEP_MS).find("old", "p"), undefined);
  });

  it("is the very object that was answered, streamed or not, but is not streamed again", async () => {
    const scene = shared();
    const streamed = await scene.send({ model: "svc", input: "a", stream: true });
    const [, final = ""] = /event: response\.completed\ndata: (.*)\n/.exec(streamed.text) ?? [];
    const { response } = JSON.parse(final) as { response: { id: string } };
    assert.deepEqual((await scene.send(undefined, {}, `/${response.id}`, "GET")).json, response);
    const again = await scene.send(undefined, {}, `/${response.id}?stream=true`, "GET");
    assert.deepEqual([again.status, again.json.error.param], [400, "stream"]);
    const deleted = await scene.send(undefined, {}, `/${response.id}`, "DELETE");
    assert.deepEqual(deleted.json, { id: response.id, object: "response", deleted: true });
  });
});
