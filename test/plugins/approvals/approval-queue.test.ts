import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { ApprovalQuestion } from "@svc/sdk/gateway";
import { createFakeClock } from "@svc/sdk/testing";
import { STEPS } from "../../../plugins/approvals/approval-rows.ts";
import { ApprovalStore } from "../../../plugins/approvals/approval-store.ts";
import { createApprover } from "../../../plugins/approvals/approver-service.ts";
import { askedCommand } from "../../../plugins/approvals/asking.ts";
import {
  DEFAULT_TIMEOUT_MS,
  MAX_PENDING,
  MAX_PENDING_EACH,
  MAX_TIMEOUT_MS,
} from "../../../plugins/approvals/approval-queue.ts";
import { onlyOwner } from "../only-owner.ts";
import { ada, claim, nodeRequest, openDesk, requester, SECRET } from "./scene.ts";
import { until } from "../../until.ts";

const always = { ...ada, decision: "allow-always" } as const;
const deny = { ...ada, decision: "deny" } as const;
const DAY = 86_400_000;

describe("a question", () => {
  it("is recorded before approvers are notified, and settled by the decision", async (t) => {
    const { store, queue, announced, decisions, ask } = await openDesk(t);
    const { record, settled } = await ask();
    assert.equal((await store.get(record.id))?.status, "pending");
    assert.deepEqual(announced, [record]);
    assert.equal((await queue.decide(record, ada)).won, true);
    const { decision, resolvedBy, status } = await settled;
    assert.deepEqual([decision, resolvedBy, status], ["allow-once", "Ada", "decided"]);
    assert.equal(decisions.length, 1);
    assert.equal(queue.waiting(record.id), undefined);
  });

  it("counts as a no when nobody answers in time (120 s by default, at most a day), and cannot be decided afterwards, even before the timer fires", async (t) => {
    const { clock, ask, store, queue, decisions } = await openDesk(t);
    const short = await ask();
    const long = await ask({ timeoutMs: 10 * MAX_TIMEOUT_MS });
    assert.equal(short.record.expiresAt - short.record.createdAt, DEFAULT_TIMEOUT_MS);
    assert.equal(long.record.expiresAt - long.record.createdAt, MAX_TIMEOUT_MS);
    await clock.advance(DEFAULT_TIMEOUT_MS - 1);
    assert.equal((await store.get(short.record.id))?.status, "pending");
    await clock.advance(1);
    const ended = await short.settled;
    assert.deepEqual([ended.decision, ended.status, ended.reason], [null, "expired", "time"]);
    assert.equal((await queue.decide(short.record, ada)).won, false);
    const { record } = long;
    assert.equal((await store.get(record.id))?.status, "pending");
    for (const late of [0, 1]) assert.equal(await store.decide(record, ada, record.expiresAt + late), false);
    assert.deepEqual(decisions, []);
  });

  it("is settled once when a decision and its expiry coincide", async (t) => {
    const { ask, queue, store, decisions } = await openDesk(t);
    for (let round = 0; round < 10; round++) {
      const { record, settled } = await ask();
      const [, outcome] = await Promise.all([queue.close(record.id, "time"), queue.decide(record, ada)]);
      const end = await settled;
      assert.equal(end.decision, outcome.won ? "allow-once" : null);
      assert.deepEqual(end, await store.get(record.id));
    }
    assert.equal(decisions.length, (await store.list(100, undefined)).filter((row) => row.decision !== null).length);
  });

  it("is taken once when two come with one id at the same time", async (t) => {
    const { queue } = await openDesk(t);
    const question = { id: "both", asked: askedCommand(nodeRequest), requester, always: false };
    const both = await Promise.all([queue.take(question), queue.take(question)]);
    assert.equal(both.filter(Boolean).length, 1);
  });

  it("is refused when too many are pending, of one client or in total", async (t) => {
    const { queue, ask } = await openDesk(t);
    const of = (n: number) => ({ requester: { ...requester, deviceId: `d${n}` } });
    await Promise.all(Array.from({ length: MAX_PENDING_EACH }, () => ask(of(0))));
    await assert.rejects(ask(of(0)), { code: "UNAVAILABLE", message: /of one client.*svc approvals list/ });
    for (let n = 1; n < MAX_PENDING / MAX_PENDING_EACH; n++)
      await Promise.all(Array.from({ length: MAX_PENDING_EACH }, () => ask(of(n))));
    await assert.rejects(ask(of(99)), { code: "UNAVAILABLE", message: /too many.*1000/ });
    await queue.close("q1", "cancelled");
    await ask(of(99));
  });

  it("that cannot be recorded is refused and does not count; one whose expiry cannot be recorded is settled once it is", async (t) => {
    const { broken, queue, ask, announced, clock, store } = await openDesk(t);
    broken.transactions = () => Promise.reject(new GatewayError("UNAVAILABLE", "disk full"));
    await assert.rejects(ask({ id: "x" }), { code: "UNAVAILABLE" });
    assert.equal(queue.waiting("x"), undefined);
    assert.deepEqual(announced, []);
    delete broken.transactions;
    const { record, settled } = await ask({ id: "x", timeoutMs: 50 });
    let tries = 0;
    broken.transactions = () => {
      tries += 1;
      return Promise.reject(new GatewayError("UNAVAILABLE", "disk full"));
    };
    await clock.advance(50);
    await until(() => tries === 1);
    await clock.advance(1_000);
    await until(() => tries === 2);
    assert.equal((await store.get(record.id))?.status, "pending");
    delete broken.transactions;
    await clock.advance(1_000);
    assert.equal((await settled).reason, "time");
  });

  it("is listed, pending ones first; clients who are no approvers see only their own", async (t) => {
    const { ask, queue, store, clock } = await openDesk(t);
    const first = await ask();
    await clock.advance(1);
    const second = await ask({ requester: { principalId: "token", deviceId: null, connectionId: "c2" } });
    await clock.advance(1);
    const third = await ask({ requester: { principalId: "plugin:x", deviceId: null, connectionId: null } });
    await queue.decide(third.record, deny);
    const ids = async (...of: Parameters<typeof store.list>) => (await store.list(...of)).map(({ id }) => id);
    const [a, b, c] = [first.record.id, second.record.id, third.record.id];
    assert.deepEqual(await ids(10, undefined), [b, a, c]);
    assert.deepEqual(await ids(2, undefined), [b, a]);
    assert.deepEqual(await ids(10, requester), [a]);
    assert.deepEqual(await ids(10, { principalId: "token", deviceId: null, connectionId: "c2" }), [b]);
    assert.deepEqual(await ids(10, { principalId: "plugin:x", deviceId: null, connectionId: null }), [c]);
    assert.deepEqual(await ids(10, { principalId: "token", deviceId: null, connectionId: null }), []);
  });
});

describe("a grant", () => {
  it("answers the same question at once, and records its last use", async (t) => {
    const { ask, queue, store, announced, decisions, clock } = await openDesk(t);
    await queue.decide((await ask()).record, always);
    assert.equal((await store.grants(clock.now()))[0]?.lastUsedAtMs, undefined);
    await clock.advance(1_000);
    const { record, settled } = await ask();
    assert.equal((await settled).decision, "allow-always");
    assert.equal(announced.length, 1);
    assert.equal(decisions.length, 1);
    assert.equal((await store.get(record.id))?.decision, "allow-always");
    assert.equal((await store.grants(clock.now()))[0]?.lastUsedAtMs, clock.now());
    await ask({ asked: { ...askedCommand(nodeRequest), kind: "question:exec" } });
    assert.equal(announced.length, 2, "another kind with the same digest");
  });

  it("is stored with the decision or not at all", async (t) => {
    const { ask, queue, store, broken, clock } = await openDesk(t);
    const { record } = await ask();
    broken.transactions = () => Promise.reject(new GatewayError("UNAVAILABLE", "disk full"));
    await assert.rejects(queue.decide(record, always), { code: "UNAVAILABLE" });
    delete broken.transactions;
    assert.deepEqual([await store.grants(clock.now()), (await store.get(record.id))?.status], [[], "pending"]);
    assert.equal((await queue.decide(record, deny)).won, true);
    assert.equal(await store.decide(record, always, 0), false);
    assert.deepEqual(await store.grants(clock.now()), []);
  });

  it("ends after 90 days, or at the chosen time", async (t) => {
    const { ask, queue, store, announced, clock } = await openDesk(t);
    const begun = clock.now();
    await queue.decide((await ask()).record, always);
    const elsewhere = { asked: askedCommand({ ...nodeRequest, host: "gateway" }) };
    const chosen = { ...ada, grant: { for: "this", expiresAtMs: begun + 3_600_000 } } as const;
    await queue.decide((await ask(elsewhere)).record, chosen);
    const ends = (await store.grants(clock.now())).map(({ expiresAtMs }) => expiresAtMs - begun);
    assert.deepEqual(new Set(ends), new Set([3_600_000, 90 * DAY]));
    await clock.advance(3_600_000 - 1);
    const hour = await ask(elsewhere);
    assert.deepEqual([(await hour.settled).decision, announced.length], ["allow-once", 2], "nobody may keep it longer");
    assert.equal(hour.record.expiresAt, begun + 3_600_000, "nor use it later");
    await clock.advance(1);
    await ask(elsewhere);
    assert.equal(announced.length, 3);
    await clock.advance(90 * DAY - 3_600_000 - 1);
    assert.equal((await (await ask()).settled).decision, "allow-always");
    await clock.advance(1);
    await ask();
    assert.deepEqual([announced.length, await store.grants(clock.now())], [4, []]);
  });

  it("from before grants had an expiry ends 90 days after it was given", async (t) => {
    const now = createFakeClock().now();
    const asked = askedCommand(nodeRequest);
    const { ask, store, announced, storage } = await openDesk(t, {
      async before(empty) {
        await empty.migrate("approvals", STEPS.slice(0, 4));
        const sql = "INSERT INTO approval_grants (kind, digest, command, created_at) VALUES ('exec', ?, 'rm', ?)";
        const given = [
          [asked.digest, now - 89 * DAY],
          ["of old", now - 90 * DAY],
        ] as const;
        await empty.transaction(given.map((params) => ({ sql, params })));
      },
    });
    const [row = assert.fail(), ...more] = await store.grants(now);
    assert.deepEqual([row.digest, row.for, row.expiresAtMs, more], [asked.digest, "this", now + DAY, []]);
    assert.equal((await (await ask()).settled).decision, "allow-always");
    assert.equal(announced.length, 0);
    assert.equal((await storage.all("SELECT digest FROM approval_grants")).length, 2, "retention removes it");
  });
});

describe("a question of a plugin", () => {
  const question = { title: "delete it?", subject: { tool: "rm", path: "/x" }, kind: "toolBefore:rm", askedBy: "gate" };

  it("gets the answer, and a reason for a no; a grant is bound to its kind and subject, whatever the order of keys", async (t) => {
    const { queue, announced, store } = await openDesk(t);
    const approver = createApprover(queue);
    const answer = approver.ask({ ...question, agentId: "main", sessionKey: "s" });
    await until(() => announced.length === 1);
    const [record] = announced;
    assert.ok(record);
    const { command, host, agentId, sessionKey, askedBy, digest } = record.view;
    assert.deepEqual([command, host, agentId, sessionKey, askedBy], ["delete it?", "gateway", "main", "s", "gate"]);
    assert.match(digest ?? "", /^[0-9a-f]{64}$/);
    await queue.decide(record, deny);
    assert.deepEqual(await answer, { id: record.id, decision: "deny", reason: "Ada denied it" });
    assert.equal((await store.get(record.id))?.kind, "question:toolBefore:rm");

    const first = approver.ask(question);
    await until(() => announced.length === 2);
    await queue.decide(announced[1] ?? assert.fail(), always);
    assert.equal((await first).decision, "allow-always");
    const same = await approver.ask({ ...question, title: "other words", subject: { path: "/x", tool: "rm" } });
    assert.equal(same.decision, "allow-always");
    for (const other of [
      { kind: "toolBefore:x" },
      { subject: { tool: "rm", path: "/y" } },
      { subject: { tool: "rm" } },
    ]) {
      const before = announced.length;
      const refused = approver.ask({ ...question, ...other, timeoutMs: 1_000 });
      await until(() => announced.length === before + 1);
      await queue.decide(announced.at(-1) ?? assert.fail(), deny);
      assert.equal((await refused).decision, "deny");
    }
    const wrong = approver.ask({ ...question, subject: { at: undefined } });
    await assert.rejects(wrong, { code: "INVALID_REQUEST", message: /subject\.at is of type undefined/ });
  });

  it("gets a no when nobody answers, no approver is connected, or it is cancelled", async (t) => {
    const { queue, state, announced, clock, store } = await openDesk(t);
    const approver = createApprover(queue);
    const timed = approver.ask({ ...question, timeoutMs: 5 });
    await until(() => announced.length === 1);
    await clock.advance(5);
    assert.match((await timed).reason ?? "", /in time/);

    const abort = new AbortController();
    const cancelled = approver.ask({ ...question, signal: abort.signal });
    await until(() => announced.length === 2);
    abort.abort();
    const { id, decision, reason } = await cancelled;
    assert.deepEqual([decision, reason], [null, "the question was cancelled"]);
    assert.equal((await store.get(id))?.reason, "cancelled");
    assert.equal((await approver.ask({ ...question, signal: AbortSignal.abort() })).decision, null);

    state.nobody = true;
    const alone = await approver.ask(question);
    assert.equal(alone.decision, null);
    assert.match(alone.reason ?? "", /no approver is connected\. Next: svc approvals watch/);
  });

  it("may be allowed for the session: exactly what the question offers, until the grant ends", async (t) => {
    const { queue, announced, clock, store, storage, newDesk } = await openDesk(t);
    const session = { title: "every rm \u202ehere", subject: { tool: "rm", conversation: 1 } };
    const approver = createApprover(queue);
    const decided = async (changes: Partial<ApprovalQuestion>, over = approver) => {
      const before = announced.length;
      const answer = over.ask({ ...question, session, ...changes, timeoutMs: 60_000 });
      const isAsked = until(() => announced.length > before).then(() => "asked");
      const { isGranted, decision, id } = await Promise.race([
        answer,
        isAsked.then(() => ({ isGranted: false, decision: null, id: "" })),
      ]);
      if (id === "") await queue.close(announced.at(-1)?.id ?? "", "cancelled");
      return isGranted === true ? decision : "asked";
    };
    const first = approver.ask({ ...question, session });
    await until(() => announced.length === 1);
    const [record = assert.fail()] = announced;
    assert.equal(record.view.session, "every rm \\u202ehere");
    const grant = { for: "session", expiresAtMs: clock.now() + 3_600_000 } as const;
    await queue.decide(record, { ...ada, grant });
    assert.deepEqual(await first, { id: record.id, decision: "allow-once" }, "a person said so");
    assert.deepEqual((await store.get(record.id))?.grant, grant);
    const [row = assert.fail()] = await store.grants(clock.now());
    assert.deepEqual([row.for, row.command, row.expiresAtMs], ["session", "every rm \\u202ehere", grant.expiresAtMs]);

    const other = { subject: { tool: "rm", path: "/y" } };
    assert.equal(await decided(other), "allow-once");
    const elsewhere = { title: "x", subject: { tool: "rm", conversation: 2 } };
    assert.equal(await decided({ ...other, session: elsewhere }), "asked");
    assert.equal(await decided({ ...other, session: undefined }), "asked");
    assert.equal(await decided({ ...other, kind: "toolBefore:x" }), "asked");
    const exact = { subject: session.subject, session: undefined };
    assert.equal(await decided(exact), "asked", "no exact question is its digest");
    const next = new ApprovalStore(storage);
    await next.open(onlyOwner());
    assert.equal(await decided(other, createApprover(newDesk(next))), "allow-once", "after a restart");
    await clock.advance(3_600_000);
    assert.equal(await decided(other), "asked");
  });
});

it("values of variables appear nowhere: not in files, logs, or events for approvers", async (t) => {
  const { directory, ask, queue, announced, decisions, logged, store, clock, claims } = await openDesk(t);
  const first = await ask();
  await queue.decide(first.record, always);
  await ask();
  const elsewhere = { ...nodeRequest, host: "gateway" };
  const third = await ask({ asked: askedCommand(elsewhere) });
  await queue.decide(third.record, { ...ada, decision: "deny" });
  await assert.rejects(
    claims.claim(claim(first.record.id, { env: { TOKEN: `${SECRET}x` } })),
    (error: GatewayError) => !JSON.stringify([error.message, error.details]).includes(SECRET),
  );
  await clock.advance(DEFAULT_TIMEOUT_MS);
  for (const name of await readdir(directory)) {
    assert.ok(!(await readFile(join(directory, name))).includes(SECRET), name);
  }
  const told = JSON.stringify([
    announced,
    decisions,
    logged,
    await store.list(10, undefined),
    await store.grants(clock.now()),
  ]);
  assert.ok(!told.includes(SECRET));
  assert.match(told, /"envKeys":\["TOKEN"\]/);
});
