import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDamageLog } from "../../../../plugins/sessions/store/damage.ts";
import { OWNER, STEPS } from "../../../../plugins/sessions/store/schema.ts";
import { SessionStore } from "../../../../plugins/sessions/store/store.ts";
import { Transcripts } from "../../../../plugins/sessions/transcripts/transcripts.ts";
import { createUsageRecords } from "../../../../plugins/sessions/usage-facts/usage-records.ts";
import { FakeClock, NOON, openTestStorage } from "../open-store.ts";

/** Steps of the version without compactions, parts and usage facts. */
const OLD_STEPS = STEPS.slice(0, STEPS.indexOf("create index archives_key on archives (key, archived_at)") + 1);
const PERIOD = { from: 0, to: NOON * 2, zone: { offsetMs: 0 } };

const message = (seq: number, body: object | string) => {
  const sql = "insert into transcript (session_id, seq, id, role, created_at, body) values (?, ?, ?, ?, ?, ?)";
  const [role, text] = [seq % 2 === 0 ? "assistant" : "user", typeof body === "string" ? body : JSON.stringify(body)];
  return { sql, params: ["s1", seq, `0000000${seq}`, role, NOON, text] };
};
const session = {
  sql: "insert into sessions (key, agent_id, session_id, updated_at, label, listed, entry) values ('agent:main:a', 'main', 's1', 1, null, 1, '{}')",
};
const question = { role: "user", content: [{ type: "text", text: "hi" }], timestamp: NOON };
const answer = {
  role: "assistant",
  content: [{ type: "toolCall", id: "1", name: "read", arguments: {} }],
  provider: "p",
  model: "m",
  usage: { input: 3, output: 4 },
  timestamp: NOON + 500,
};

describe("a store of the previous version", () => {
  it("is migrated with all its rows, damaged ones too, and the old version can still write", async (t) => {
    const storage = await openTestStorage(t);
    assert.ok(OLD_STEPS.length > 5 && OLD_STEPS.length < STEPS.length);
    await storage.migrate(OWNER, OLD_STEPS);
    const orphan = { ...message(1, question), params: ["gone", 1, "x", "user", 7, JSON.stringify(question)] };
    await storage.transaction([session, message(1, question), message(2, answer), message(3, '{"torn'), orphan]);

    const clock = new FakeClock();
    const damage = createDamageLog({ error: () => {} });
    const parts = { storage: () => storage, clock, damage };
    await new SessionStore(parts).open("main");
    const transcripts = new Transcripts(parts);
    const rules = () => ({ defaultAgentId: "main", mainKey: "main", scope: "per-sender" as const });
    const usage = createUsageRecords({ ...parts, transcripts, rules });
    const sums = async () => {
      const all = await usage.transcripts(PERIOD, { key: "agent:main:a", limit: 1, includeContextWeight: false });
      return all[0]?.sums.filter(({ answers }) => answers > 0) ?? [];
    };
    const [sum] = await sums();
    const { input, totalTokens, toolCalls, unpriced, latencies } = sum ?? assert.fail();
    assert.deepEqual([input, totalTokens, toolCalls, unpriced, latencies], [3, 7, 1, 1, "[500]"]);
    const archives = await storage.all("select session_id, key, reason, archived_at from archives");
    assert.deepEqual(archives, [{ session_id: "gone", key: "agent:main:gone", reason: "kept", archived_at: 7 }]);
    assert.equal((await transcripts.last("agent:main:a", 9)).length, 2);

    await storage.transaction([message(4, answer)]); // as the previous version writes
    assert.equal((await sums())[0]?.totalTokens, 14);
    await storage.migrate(OWNER, STEPS); // a second start changes nothing
  });
});
