import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { AgentRuns } from "@svc/sdk/agents";
import { limitsOf } from "../../../../plugins/sessions/lifecycle/maintenance.ts";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { call, type FakeOptions, startFake } from "../fake-gateway.ts";
import { FakeClock, openTestStorage, user } from "../open-store.ts";

const DAY = 86_400_000;
const enforce = (more: object = {}) => ({ maintenance: { mode: "enforce", ...more } });

async function start(t: TestContext, config: object, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, config, ...options });
  const keys = async () =>
    (await fake.service.recent({ limit: 5_000 })).map(({ key }) => key.replace("agent:main:", ""));
  const rows = async (table: string) => (await storage.all<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n;
  return { ...fake, storage, clock, keys, rows };
}

const runsIn = (...active: string[]): Pick<AgentRuns, "active"> => ({
  active: (key) => (active.includes(key) ? [{ runId: "r", sessionKey: key, source: "x", status: "running" }] : []),
});

describe("the limits of maintenance", () => {
  const rows: [config: object, expected: object][] = [
    [{}, { pruneAfterMs: 30 * DAY, retentionMs: 30 * DAY, maxBytes: undefined }],
    [{ pruneAfter: "12h" }, { pruneAfterMs: DAY / 2, retentionMs: DAY / 2 }],
    [{ pruneDays: 7 }, { pruneAfterMs: 7 * DAY }],
    [{ pruneAfter: 2, pruneDays: 7 }, { pruneAfterMs: 2 * DAY }],
    [{ pruneAfter: "80ms" }, { pruneAfterMs: 80, retentionMs: 80 }],
    [{ resetArchiveRetention: false }, { retentionMs: undefined }],
    [{ resetArchiveRetention: "1h" }, { retentionMs: 3_600_000 }],
    [{ maxDiskBytes: "10k" }, { maxBytes: 10_240, highWaterBytes: 8192 }],
    [
      { maxDiskBytes: 100, highWaterBytes: 50 },
      { maxBytes: 100, highWaterBytes: 50 },
    ],
  ];
  for (const [config, expected] of rows) {
    it(`of ${JSON.stringify(config)}`, () => {
      const limits = limitsOf({ mode: "warn", ...config });
      assert.deepEqual({ ...limits, ...expected }, limits);
    });
  }
});

describe("maintenance in mode warn", () => {
  it("reports exceeded limits, once, and changes nothing", async (t) => {
    const { service, clock, tick, logged, keys, handlers, rows } = await start(t, {
      maintenance: { mode: "warn", maxEntries: 1, maxDiskBytes: 100 },
    });
    await service.append("agent:main:old", [user("x".repeat(500))]);
    await service.append("agent:main:gone", [user("hi")]);
    await handlers.delete(call({ key: "gone" }));
    clock.advance(31 * DAY);
    await service.ensure("agent:main:new");
    await tick();
    assert.equal(await tick(), 0);
    assert.equal(await tick(true), 0);
    assert.equal(logged.length, 1);
    const [{ level, fields, message } = assert.fail()] = logged;
    assert.equal(level, "warn");
    assert.match(message, /session\.maintenance\.mode to "enforce"/);
    const { bytesOverLimit, ...others } = fields as { bytesOverLimit: number };
    assert.deepEqual(others, { unusedSessions: 1, sessionsOverLimit: 1, expiredArchives: 1 });
    assert.ok(bytesOverLimit > 400);
    assert.deepEqual(await keys(), ["new", "old"]);
    assert.equal(await rows("transcript"), 2);
  });
});

describe("maintenance in mode enforce", () => {
  it("is the default: sessions unused for 30 days are deleted, except main sessions", async (t) => {
    const { service, clock, tick, keys, rows } = await start(t, {});
    for (const key of ["agent:main:main", "agent:ada:main", "agent:ada:old"]) await service.append(key, [user("hi")]);
    clock.advance(30 * DAY);
    for (let n = 0; n < 600; n++) await service.ensure(`agent:main:s${n}`);
    clock.advance(1);
    assert.deepEqual([await tick(true), await rows("sessions")], [1, 603], "a dry run deletes none");
    assert.equal(await tick(), 1);
    assert.deepEqual([(await keys()).length, await rows("archives")], [602, 1]);
    clock.advance(30 * DAY + 1);
    assert.equal(await tick(), 600 + 1);
    assert.deepEqual(await keys(), ["main", "agent:ada:main"]);
  });

  it("deletes unused sessions, archives their messages, and reports it", async (t) => {
    const { service, clock, tick, logged, keys, emitted, storage } = await start(t, enforce());
    await service.append("agent:main:old", [user("hi")]);
    await service.ensure("agent:main:cron:j:run:r");
    await service.ensure("agent:main:main");
    clock.advance(30 * DAY);
    await service.ensure("agent:main:young");
    clock.advance(1);
    emitted.length = 0;
    await tick();
    assert.deepEqual(await keys(), ["young", "main"], "the main session is never deleted");
    assert.equal(await service.get("agent:main:cron:j:run:r"), undefined);
    const archived = await storage.all("select key, reason from archives");
    assert.deepEqual(archived, [{ key: "agent:main:old", reason: "deleted" }]);
    const hooks = emitted.map(({ hook }) => hook);
    assert.deepEqual(hooks, ["sessionReplacing", "sessionEnded", "sessionReplacing", "sessionEnded"]);
    const told = logged.map(({ fields }) => (fields as { key: string }).key).toSorted();
    assert.deepEqual(told, ["agent:main:cron:j:run:r", "agent:main:old"]);
  });

  it("respects the number of sessions, and deletes the longest unused first", async (t) => {
    const { service, clock, tick, keys } = await start(t, enforce({ maxEntries: 3 }));
    await service.ensure("agent:main:main");
    for (let n = 0; n < 120; n++) {
      clock.advance(1);
      await service.ensure(`agent:main:s${n}`);
    }
    await tick();
    assert.deepEqual(await keys(), ["s119", "s118", "main"]);
  });

  it("never deletes a session with an active run, and does not call the gate for it", async (t) => {
    const options = { runs: runsIn("agent:main:busy") };
    const { service, clock, tick, keys, emitted, logged } = await start(t, enforce({ maxEntries: 1 }), options);
    await service.ensure("agent:main:busy");
    clock.advance(1);
    await service.ensure("agent:main:idle");
    clock.advance(31 * DAY);
    emitted.length = 0;
    await tick();
    assert.deepEqual(await keys(), ["busy"]);
    assert.ok(!emitted.some(({ input }) => (input as { key: string }).key === "agent:main:busy"));
    assert.ok(logged.some(({ message }) => message.includes("it has an active run")));
  });

  it("keeps a session if the gate denies, and reports why", async (t) => {
    const deny = { allow: false, reason: "still needed" } as const;
    const { service, clock, tick, keys, logged } = await start(t, enforce(), { deny });
    await service.ensure("agent:main:old");
    clock.advance(31 * DAY);
    await tick();
    assert.deepEqual(await keys(), ["old"]);
    const reasons = logged.map(({ fields }) => (fields as { reason: string }).reason);
    assert.deepEqual(reasons, ["still needed"]);
  });

  it("purges expired archives in batches, with all their rows", async (t) => {
    const { service, clock, tick, rows, handlers } = await start(t, enforce({ resetArchiveRetention: "1d" }));
    const many = Array.from({ length: 1200 }, () => user("hi"));
    const [first = ""] = await service.append("agent:main:a", many);
    await service.addCompaction("agent:main:a", { summary: "s", firstKeptId: first, tokensBefore: 1 });
    await service.reset("agent:main:a", "reset");
    await service.append("agent:main:b", [user("1"), user("2")]);
    await handlers.compact(call({ key: "b", maxLines: 1 }));
    clock.advance(DAY);
    await tick();
    assert.equal(await rows("transcript"), 1202, "not yet");
    clock.advance(1);
    await tick();
    const left = await Promise.all(["transcript", "message_facts", "archives", "compactions"].map(rows));
    assert.deepEqual(left, [1, 1, 0, 0]);
    assert.equal((await service.transcript("agent:main:b", 5)).length, 1);
  });

  it("keeps archives forever if configured", async (t) => {
    const { service, clock, tick, rows } = await start(t, enforce({ resetArchiveRetention: false }));
    await service.append("agent:main:a", [user("hi")]);
    await service.reset("agent:main:a", "reset");
    clock.advance(1000 * DAY);
    await tick();
    assert.deepEqual([await rows("transcript"), await rows("archives")], [1, 1]);
  });

  it("does not purge a transcript that a session shows again", async (t) => {
    const { service, clock, tick, rows } = await start(t, enforce({ resetArchiveRetention: "1h", pruneAfter: "90d" }));
    await service.append("agent:main:a", [user("hi")]);
    const { sessionId } = (await service.get("agent:main:a")) ?? assert.fail();
    await service.reset("agent:main:a", "reset");
    await service.ensure("agent:main:resumed", { sessionId });
    clock.advance(DAY);
    await tick();
    assert.deepEqual([await rows("transcript"), await rows("archives")], [1, 0]);
    assert.equal((await service.transcript("agent:main:resumed", 5)).length, 1);
  });

  it("reduces the bytes: archives first, then the longest unused sessions", async (t) => {
    const long = user("x".repeat(1000));
    const { service, clock, tick, keys, rows } = await start(t, enforce({ maxDiskBytes: 3500, highWaterBytes: 2300 }));
    for (const name of ["a", "b", "c", "d"]) {
      clock.advance(1);
      await service.append(`agent:main:${name}`, [long]);
    }
    await service.reset("agent:main:d", "reset");
    await tick();
    assert.deepEqual(await keys(), ["d", "c", "b"]);
    assert.deepEqual([await rows("transcript"), await rows("archives")], [2, 0]);
  });
});
