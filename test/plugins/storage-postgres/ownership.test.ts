/** Leases of several gateways in a real server: what one owns, another one takes only after its end. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createOwnership, LEASE_MS, RENEW_MS } from "@svc/kit/storage";
import type { Owner, Storage } from "@svc/sdk/storage";
import { startPostgres } from "../../postgres.ts";
import { until } from "../../until.ts";
import { openPostgres, type OpenPostgres, withoutPostgres } from "./open-postgres.ts";

interface JoinOptions {
  /** What its clock shows in addition to the time. */
  readonly skewMs?: number;
  /** Replaces the storage of the gateway. */
  readonly storage?: (real: Storage) => Storage;
}

/** A gateway on the database. */
async function join(t: TestContext, { storage, signals }: OpenPostgres, options: JoinOptions = {}) {
  const { skewMs = 0, storage: replaced = (real) => real } = options;
  const logged: string[] = [];
  const note = (_fields: object, text: string) => void logged.push(text);
  const parts = createOwnership({
    storage: replaced(storage),
    signals,
    clock: { now: () => Date.now() + skewMs },
    log: { info: note, warn: note },
    name: "test",
  });
  await parts.join();
  t.after(parts.leave);
  return { ...parts, logged, owner: await parts.ownership.owner() };
}

async function rows(t: TestContext) {
  const owner = await openPostgres(t);
  await owner.storage.migrate("work", ["CREATE TABLE work (id TEXT PRIMARY KEY, owner TEXT)"]);
  const { storage } = owner;
  const add = (id: string, by: Owner) =>
    storage.transaction([{ sql: "INSERT INTO work (id, owner) VALUES (?, ?)", params: [id, by.id] }]);
  const take = async (id: string, by: Owner) => {
    const { sql, params } = by.free("owner");
    const statement = `UPDATE work SET owner = ? WHERE id = ? AND ${sql}`;
    const [result] = await storage.transaction([{ sql: statement, params: [by.id, id, ...params] }]);
    return result?.changes === 1;
  };
  return { ...owner, add, take };
}

/** Ends a lease in the database, as if it had not been renewed. */
async function expire(storage: Storage, owner: Owner): Promise<void> {
  const sql = "UPDATE svc_gateways SET expires_at = 0 WHERE id = ?";
  await storage.transaction([{ sql, params: [owner.id.split("/")[0] ?? ""], expectChanges: 1 }]);
}

describe("rows", { skip: withoutPostgres() }, () => {
  it("belong to their owner until its gateway leaves", async (t) => {
    const scene = await rows(t);
    const [one, two] = [await join(t, scene), await join(t, scene)];
    await scene.add("a", one.owner);
    assert.deepEqual([await scene.take("a", two.owner), await scene.take("a", one.owner)], [false, false]);
    await one.leave();
    assert.equal(await scene.take("a", two.owner), true);
    assert.equal(await scene.take("a", two.owner), false, "they are its own now");
  });

  it("are free at once for a later generation of the plugin in the same gateway", async (t) => {
    const scene = await rows(t);
    const one = await join(t, scene);
    await scene.add("a", one.owner);
    assert.equal(await scene.take("a", await one.ownership.owner()), true);
  });

  it("are free when the lease has ended, whatever the clocks of the gateways show", async (t) => {
    const scene = await rows(t);
    const [early, late] = [await join(t, scene, { skewMs: -300_000 }), await join(t, scene, { skewMs: 300_000 })];
    assert.ok(Math.abs(early.ownership.aheadMs - 300_000) < 5_000, String(early.ownership.aheadMs));
    assert.ok(Math.abs(late.ownership.aheadMs + 300_000) < 5_000, String(late.ownership.aheadMs));
    await scene.add("a", early.owner);
    assert.equal(await scene.take("a", late.owner), false);
    await expire(scene.storage, early.owner);
    assert.equal(await scene.take("a", late.owner), true);
  });

  it("without an owner, or of a version without leases, are free", async (t) => {
    const scene = await rows(t);
    const one = await join(t, scene);
    await scene.storage.transaction([{ sql: "INSERT INTO work (id, owner) VALUES ('n', NULL), ('o', 'host/1/2/x')" }]);
    assert.deepEqual([await scene.take("n", one.owner), await scene.take("o", one.owner)], [true, true]);
  });
});

describe("a resource", { skip: withoutPostgres() }, () => {
  it("has one owner, who may give it up; another one may seize it", async (t) => {
    const scene = await rows(t);
    const [one, two] = [await join(t, scene), await join(t, scene)];
    const write = async (by: Owner) => {
      const { sql, params } = by.holds("r");
      const [done] = await scene.storage.transaction([
        { sql: `INSERT INTO work (id) SELECT ? WHERE ${sql}`, params: [crypto.randomUUID(), ...params] },
      ]);
      return done?.changes;
    };
    assert.deepEqual(await Promise.all([one.owner.take("r"), one.owner.take("r")]), [true, true]);
    assert.equal(await two.owner.take("r"), false);
    await two.owner.release("r"); // it is not its own
    assert.deepEqual([await write(one.owner), await write(two.owner)], [1, 0]);
    await two.owner.seize("r");
    assert.deepEqual([await write(one.owner), await write(two.owner)], [0, 1]);
    await two.owner.release("r");
    assert.equal(await one.owner.take("r"), true);
  });

  it("is free when its owner ends, and the others are told", async (t) => {
    const scene = await rows(t);
    const [one, two] = [await join(t, scene), await join(t, scene)];
    await one.owner.take("a");
    await one.owner.take("b");
    const told = new Promise<void>((resolve) => two.ownership.changed(resolve));
    await one.owner.end();
    await told;
    assert.deepEqual([await two.owner.take("a"), await two.owner.take("b")], [true, true]);
  });

  it("is taken by one of many that try at once", async (t) => {
    const scene = await rows(t);
    const gateways = await Promise.all(Array.from({ length: 4 }, () => join(t, scene)));
    for (const name of ["a", "b", "c"]) {
      const taken = await Promise.all(gateways.map(({ owner }) => owner.take(name)));
      assert.equal(taken.filter(Boolean).length, 1, name);
    }
  });
});

describe("a gateway", { skip: withoutPostgres() }, () => {
  it("is told when another one has left, when its lease has ended, and when it is nudged", async (t) => {
    const scene = await rows(t);
    const [one, two, three] = [await join(t, scene), await join(t, scene), await join(t, scene)];
    let told = 0;
    let toldTwo = 0;
    await until(() => one.ownership.others === 2 && two.ownership.others === 2, "that they know each other");
    await new Promise((resolve) => setTimeout(resolve, 500)); // the last of their joins was told
    one.ownership.changed(() => void (told += 1));
    two.ownership.changed(() => void (toldTwo += 1));
    two.ownership.nudge(one.owner.id);
    await until(() => told === 1, "the nudge");
    assert.equal(toldTwo, 0);
    await three.leave();
    await until(() => told === 2 && toldTwo === 1, "the leave", 10_000);
    await new Promise((resolve) => setTimeout(resolve, RENEW_MS + 500)); // each has seen the other
    await expire(scene.storage, two.owner);
    await until(() => told === 3, "the end of the lease", 10_000);
  });

  it("stops acting before its lease ends when it cannot renew it, and has a new owner afterwards", async (t) => {
    const scene = await rows(t);
    let isAway = false;
    const away = (real: Storage): Storage => ({
      ...real,
      transaction: (statements) => (isAway ? Promise.reject(new Error("away")) : real.transaction(statements)),
    });
    const [one, two] = [await join(t, scene, { storage: away }), await join(t, scene)];
    await scene.add("a", one.owner);
    isAway = true;
    const begun = performance.now();
    await until(() => one.owner.signal.aborted, "the end", LEASE_MS);
    assert.equal(one.owner.isCurrent, false);
    assert.equal(await scene.take("a", two.owner), false, "another one must not take it yet");
    await assert.rejects(one.ownership.owner(), { name: "SetupOutcome", outcome: "not-ready" });
    await until(() => scene.take("a", two.owner), "the end of the lease", LEASE_MS);
    assert.ok(performance.now() - begun < LEASE_MS + 1_000);
    isAway = false;
    await until(
      async () => (await one.ownership.owner().catch(() => undefined)) !== undefined,
      "the new lease",
      10_000,
    );
    const log = /lost its lease[\s\S]+has a lease again/;
    await until(() => log.test(one.logged.join("\n")), "the log of both");
    assert.notEqual((await one.ownership.owner()).id, one.owner.id);
  });

  it("whose lease has ended in the database does not renew it", async (t) => {
    const scene = await rows(t);
    const one = await join(t, scene);
    await expire(scene.storage, one.owner);
    await until(() => one.owner.signal.aborted, "the end", LEASE_MS);
    assert.match(String(one.owner.signal.reason), /it ended before it was renewed/);
  });

  it("renews its lease ahead of the writes that wait", async (t) => {
    const { storage, urgent } = await rows(t);
    let done = 0;
    const write = (id: number) =>
      storage.transaction([{ sql: "INSERT INTO work (id) VALUES (?)", params: [String(id)] }]).then(() => (done += 1));
    const waiting = Array.from({ length: 2_000 }, (_, id) => write(id));
    await urgent([{ sql: "INSERT INTO work (id) VALUES ('urgent')" }]);
    assert.ok(done < 1_000, `${done} writes came first`);
    await Promise.all(waiting);
    assert.equal((await storage.get<{ n: number }>("SELECT count(*) AS n FROM work"))?.n, 2_001);
  });

  it("keeps its lease over a crash of the server, and is nudged again afterwards", async (t) => {
    const server = await startPostgres(t);
    const scene = await openPostgres(t, `${server.url}?schema=crash`);
    const [one, two] = [await join(t, scene), await join(t, scene)];
    let told = 0;
    one.ownership.changed(() => void (told += 1));
    await server.kill();
    await server.start();
    await until(
      () =>
        scene.storage.get("SELECT 1").then(
          () => true,
          () => false,
        ),
      "the server",
    );
    await until(() => {
      two.ownership.nudge(one.owner.id);
      return told > 0;
    }, "the nudge");
    assert.equal(one.owner.isCurrent || one.logged.some((line) => /lost its lease/.test(line)), true);
  });
});
