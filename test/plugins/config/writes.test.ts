import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { invalidRequest, matches } from "@svc/sdk";
import { config } from "@svc/sdk/config";
import { call, scene, written } from "./scene.ts";

const raw = "{ gateway: { port: 1 } }";
const head = { ok: true, path: written.path, config: written.config, hash: "11", changed: ["gateway.port"] };

describe("config.set", () => {
  it("replaces the file on behalf of the caller, and leaves the restart to the gateway", async (t) => {
    const { handlers, changes, scheduled, sentinelPath } = await scene(t);
    const answer = await handlers.set(call({ raw, baseHash: "00" }));
    assert.deepEqual(answer, head);
    assert.ok(matches(config.set.result, answer));
    assert.deepEqual(changes, [
      { mode: "replace", raw, baseHash: "00", actor: "token:1", action: "config.set", restartsItself: false },
    ]);
    assert.deepEqual(scheduled, []);
    assert.ok(!existsSync(sentinelPath));
  });
});

const methods = [
  ["patch", "patch"],
  ["apply", "replace"],
] as const;
for (const [method, mode] of methods) {
  describe(`config.${method}`, () => {
    it("writes, schedules the restart and keeps the note for after it", async (t) => {
      const { handlers, changes, scheduled, sentinelPath, told } = await scene(t, { sessions: ["s"] });
      const params = { raw, baseHash: "00", note: "done", sessionKey: "s", restartDelayMs: 500 };
      const answer = await handlers[method](call(params));
      assert.deepEqual(changes, [
        { mode, raw, baseHash: "00", actor: "token:1", action: `config.${method}`, restartsItself: true },
      ]);
      assert.deepEqual(scheduled, [{ reason: `config.${method}`, delayMs: 500 }]);
      const note = { sessionKey: "s", message: "done", doctorHint: "Run: svc config validate" };
      const stats = { mode: `config.${method}`, root: written.path };
      const payload = { kind: `config-${method}`, status: "ok", ts: 0, ...note, stats };
      const signal = { pid: process.pid, signal: "SIGUSR1", mode: "emit" };
      const plan = { delayMs: 500, coalesced: false, cooldownMsApplied: 0, scheduled: true };
      const restart = { ok: true, reason: `config.${method}`, ...signal, ...plan };
      assert.deepEqual(answer, { ...head, restart, sentinel: { path: sentinelPath, payload } });
      assert.ok(matches(config[method].result, answer));
      assert.deepEqual(JSON.parse(readFileSync(sentinelPath, "utf8")), { version: 1, payload });
      assert.equal(statSync(sentinelPath).mode & 0o777, 0o600);
      assert.deepEqual(told, [], "not before the restart");
    });

    it("returns the outcome of the restart", async (t) => {
      const given = { delayMs: 7, coalesced: true, cooldownMsApplied: 5 };
      const { handlers, scheduled } = await scene(t, { schedule: () => given });
      const { restart } = await handlers[method](call({ raw }));
      assert.deepEqual(scheduled, [{ reason: `config.${method}` }], "the default delay is the scheduler's");
      assert.deepEqual({ ...restart, ...given, scheduled: true }, restart);
    });

    for (const reload of ["hot", "plugin", undefined] as const) {
      it(`restarts nothing for a change that needs: ${reload}, and posts the note right away`, async (t) => {
        const made = await scene(t, { write: () => ({ ...written, reload }), sessions: ["s"] });
        const { restart, sentinel } = await made.handlers[method](call({ raw, note: "done", sessionKey: "s" }));
        const plan = { scheduled: false, delayMs: 0, coalesced: false, cooldownMsApplied: 0 };
        assert.deepEqual({ ...restart, ...plan, reason: `config.${method}` }, restart);
        assert.deepEqual([sentinel.path, existsSync(made.sentinelPath)], [null, false]);
        assert.deepEqual([made.scheduled, made.told], [[], [{ sessionKey: "s", message: "done" }]]);
      });
    }

    it("if the gateway cannot restart, the write stands and the result says to restart by hand", async (t) => {
      const made = await scene(t, { possible: false, sessions: ["s"] });
      const answer = await made.handlers[method](call({ raw, note: "done", sessionKey: "s" }));
      assert.equal(made.changes.length, 1);
      const reason = `config.${method}: written; restart the gateway by hand for it to take effect: start it anew`;
      assert.deepEqual({ ...answer.restart, scheduled: false, reason }, answer.restart);
      assert.deepEqual([answer.sentinel.path, made.told.length], [null, 1]);
      assert.ok(matches(config[method].result, answer));
    });

    it("a refused change restarts nothing and notifies no session", async (t) => {
      const write = () => invalidRequest("config changed since last load; re-run config.get");
      const made = await scene(t, { write, sessions: ["s"] });
      const refused = async () => made.handlers[method](call({ raw, note: "done", sessionKey: "s" }));
      await assert.rejects(refused, { code: "INVALID_REQUEST" });
      assert.deepEqual([made.scheduled, made.told, existsSync(made.sentinelPath)], [[], [], false]);
    });

    it("if scheduling fails, the write stands, and the note waits for the next start", async (t) => {
      const schedule = () => assert.fail("a bug");
      const made = await scene(t, { schedule, sessions: ["s"] });
      const { restart, sentinel } = await made.handlers[method](call({ raw, note: "done", sessionKey: "s" }));
      assert.equal(restart.scheduled, false);
      assert.match(restart.reason, /to take effect: the restart could not be scheduled$/);
      assert.equal(sentinel.path, made.sentinelPath);
      await made.ready();
      assert.deepEqual(made.told, [{ sessionKey: "s", message: "done" }]);
    });

    it("a note that cannot be stored is posted before the restart", async (t) => {
      const made = await scene(t, { stateDir: "/dev/null/nowhere", sessions: ["s"] });
      const { restart, sentinel } = await made.handlers[method](call({ raw, note: "done", sessionKey: "s" }));
      assert.deepEqual([restart.scheduled, sentinel.path], [true, null]);
      assert.deepEqual(made.told, [{ sessionKey: "s", message: "done" }]);
      assert.match(String(made.logged[0]?.message), /cannot be stored/);
    });
  });
}

it("config.patch passes on that lists are replaced", async (t) => {
  const { handlers, changes } = await scene(t);
  await handlers.patch(call({ raw, replaceLists: true }));
  assert.equal(changes[0]?.replaceLists, true);
});

describe("a note", () => {
  const rows: [why: string, params: object, main: string | undefined, to: string | undefined][] = [
    ["is posted to its session", { sessionKey: "s" }, "m", "s"],
    ["is posted to the main session when it has no session", {}, "m", "m"],
    ["is posted to the main session when its session is blank", { sessionKey: " " }, "m", "m"],
    ["is posted to the main session when its own does not exist", { sessionKey: "gone" }, "m", "m"],
    ["is logged when no plugin provides sessions", {}, undefined, undefined],
    ["is logged when no session exists", { sessionKey: "gone" }, "gone, too", undefined],
  ];
  for (const [why, params, main, to] of rows) {
    it(why, async (t) => {
      const write = () => ({ ...written, reload: undefined });
      const surroundings = { write, sessions: ["s", "m"], ...(main ? { mainSession: main } : {}) };
      const { handlers, told, logged } = await scene(t, surroundings);
      await handlers.patch(call({ raw, note: "done", ...params }));
      assert.deepEqual(told, to ? [{ sessionKey: to, message: "done" }] : []);
      assert.deepEqual(
        logged.map(({ fields }) => fields["note"]),
        to ? [] : ["done"],
      );
    });
  }

  it("is logged if the method does not exist", async (t) => {
    const { handlers, logged } = await scene(t, { write: () => ({ ...written, reload: "hot" }), mainSession: "m" });
    await handlers.patch(call({ raw, note: "done" }));
    assert.deepEqual(logged[0]?.fields, { note: "done", sessionKey: undefined, why: "unknown method: chat.inject" });
  });

  it("that is blank is not posted", async (t) => {
    const { handlers, told, logged } = await scene(t, {
      write: () => ({ ...written, reload: "hot" }),
      sessions: ["s"],
    });
    for (const note of [undefined, "", "  "])
      await handlers.patch(call({ raw, sessionKey: "s", ...(note === undefined ? {} : { note }) }));
    assert.deepEqual([told, logged], [[], []]);
  });
});

describe("after the restart", () => {
  it("every note is posted once, oldest first, and the file is gone", async (t) => {
    const { stateDir, handlers, sentinelPath } = await scene(t);
    await handlers.patch(call({ raw, note: "one", sessionKey: "s" }));
    await handlers.patch(call({ raw, sessionKey: "s" }));
    await handlers.apply(call({ raw, note: "three", sessionKey: "s" }));
    const next = await scene(t, { stateDir, sessions: ["s"] });
    await next.ready();
    const messages = next.told.map(({ message }) => message);
    assert.deepEqual(messages, ["one", "three"]);
    assert.ok(!existsSync(sentinelPath));
    await next.ready();
    assert.equal(next.told.length, 2);
  });

  it("two changes at the same time lose neither note", async (t) => {
    const { stateDir, handlers } = await scene(t);
    const notes = ["a", "b", "c", "d"];
    await Promise.all(notes.map(async (note) => handlers.patch(call({ raw, note, sessionKey: "s" }))));
    const next = await scene(t, { stateDir, sessions: ["s"] });
    await next.ready();
    assert.deepEqual(next.told.map(({ message }) => message).sort(), notes);
  });

  it("a file of other writers is understood", async (t) => {
    const made = await scene(t, { sessions: ["s"] });
    const payload = { kind: "update", status: "ok", ts: 1, sessionKey: "s", message: "updated", deliveryContext: {} };
    writeFileSync(made.sentinelPath, JSON.stringify({ version: 1, payload }));
    await made.ready();
    assert.deepEqual(made.told, [{ sessionKey: "s", message: "updated" }]);
  });

  for (const text of ["", '{"version": 1, "pay', "[]", '{"version": 2}', '{"version":1,"payload":{"message":5}}']) {
    it(`a torn file is logged and removed: ${text || "empty"}`, async (t) => {
      const made = await scene(t, { sessions: ["s"] });
      writeFileSync(made.sentinelPath, text);
      await made.ready();
      assert.deepEqual([made.told, existsSync(made.sentinelPath)], [[], false]);
      assert.equal(made.logged[0]?.fields["text"], text);
    });
  }

  it("nothing happens without a stored note", async (t) => {
    const made = await scene(t, { sessions: ["s"] });
    await made.ready();
    assert.deepEqual([made.told, made.logged], [[], []]);
  });
});
