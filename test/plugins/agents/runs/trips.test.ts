/** How often the storage is asked between a message and the question to the model. Design: performance.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import type { Storage } from "@svc/sdk/storage";
import { ended, openFixture, until } from "../fixture.ts";
import { MAIN, request, says } from "../script.ts";

/** Counts trips: calls that are under way together are one. */
function counting(real: Storage) {
  const counts = { trips: 0, transactions: 0, inFlight: 0 };
  /** Transactions of a kind that are under way. */
  const together = new Map<string, number>();
  /** The most of a kind that were under way together. */
  const most = new Map<string, number>();
  const trip = async <T>(work: () => Promise<T>): Promise<T> => {
    if (counts.inFlight === 0) counts.trips += 1;
    counts.inFlight += 1;
    try {
      return await work();
    } finally {
      counts.inFlight -= 1;
    }
  };
  const storage: Storage = {
    location: "",
    migrate: (...args) => real.migrate(...args),
    all: (...args) => trip(() => real.all(...args)),
    get: (...args) => trip(() => real.get(...args)),
    append: (...args) => real.append(...args),
    transaction: async (statements) => {
      counts.transactions += 1;
      const kind =
        statements
          .map(({ sql }) => /INSERT INTO agent_runs|started_at = /.exec(checkedSql(sql, "sqlite"))?.[0])
          .find(Boolean) ?? "";
      const now = (together.get(kind) ?? 0) + 1;
      together.set(kind, now);
      most.set(kind, Math.max(most.get(kind) ?? 0, now));
      try {
        return await trip(() => real.transaction(statements));
      } finally {
        together.set(kind, (together.get(kind) ?? 1) - 1);
      }
    },
  };
  return { counts, storage, most };
}

describe("trips to the storage", { timeout: 120_000 }, () => {
  it("are one to accept a run and one to begin it, when its session is known", async (t) => {
    const fixture = await openFixture(t);
    const { counts, storage } = counting(fixture.storage);
    let atQuestion = { ...counts };
    const gateway = await fixture.start({
      storage: () => storage,
      answer: (question, signal) => {
        atQuestion = { ...counts };
        return says("fine")(question, signal);
      },
    });
    await gateway.sessions.ensure(MAIN);
    await until(() => counts.inFlight === 0);
    Object.assign(counts, { trips: 0, transactions: 0 });
    await gateway.runs.start(request("r1"));
    assert.deepEqual([counts.trips >= 1, counts.transactions >= 1], [true, true]);
    await ended(gateway, "r1");
    assert.deepEqual([atQuestion.trips, atQuestion.transactions], [2, 2]);
  });

  it("of many runs are under way together, so that they share commits", async (t) => {
    const fixture = await openFixture(t);
    const { most, storage } = counting(fixture.storage);
    const gateway = await fixture.start({ storage: () => storage, config: { defaults: { maxConcurrent: 16 } } });
    const keys = Array.from({ length: 16 }, (_value, index) => `agent:main:s${index}`);
    for (const key of keys) await gateway.sessions.ensure(key);
    await Promise.all(keys.map((sessionKey) => gateway.runs.start(request(sessionKey, { sessionKey }))));
    for (const key of keys) await ended(gateway, key);
    // Storage puts what is under way together into one commit.
    assert.deepEqual([most.get("INSERT INTO agent_runs"), most.get("started_at = ")], [16, 16]);
  });
});
