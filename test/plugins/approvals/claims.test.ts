/** Rows of `details.code` in protocol/methods-node.md §4, and that only the approved command runs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExecClaim } from "@svc/sdk/approvals";
import * as fc from "fast-check";
import type { ApprovalRecord } from "../../../plugins/approvals/approval-rows.ts";
import { ApprovalStore } from "../../../plugins/approvals/approval-store.ts";
import { askedCommand } from "../../../plugins/approvals/asking.ts";
import { createClaims, mismatch } from "../../../plugins/approvals/claims.ts";
import { onlyOwner } from "../only-owner.ts";
import { ada, claim, nodeRequest, openDesk, plan, requester, SECRET } from "./scene.ts";

const always = { ...ada, decision: "allow-always" } as const;
const refusal = (code: string) => (error: Error & { code?: string; details?: { code?: string } }) => {
  assert.deepEqual([error.code, error.details?.code], ["INVALID_REQUEST", code]);
  assert.match(error.message, /request a new approval/);
  return true;
};

/** Allowed by default. */
async function allowed(
  t: Parameters<typeof openDesk>[0],
  changes: Parameters<Awaited<ReturnType<typeof openDesk>>["ask"]>[0] = {},
) {
  const scene = await openDesk(t);
  const { record } = await scene.ask(changes);
  await scene.queue.decide(record, ada);
  return { ...scene, record };
}

describe("a command that claims to be allowed", () => {
  it("runs as the stored plan says, with the contents that were shown, once", async (t) => {
    const files = [{ path: "/srv/x.sh", sha256: "a".repeat(64), bytes: 3 }];
    const { claims, record, store, clock } = await allowed(t, { asked: askedCommand({ ...nodeRequest, files }) });
    const allowedAs = { decision: "allow-once", plan, files };
    assert.deepEqual(await claims.claim(claim(record.id, { claimed: "allow-always" })), allowedAs);
    assert.equal((await store.get(record.id))?.usedAt, clock.now());
    await assert.rejects(claims.claim(claim(record.id)), refusal("APPROVAL_REQUIRED"));
  });

  it("runs once for many concurrent claims", async (t) => {
    const { claims, record } = await allowed(t);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => claims.claim(claim(record.id))));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    for (const one of outcomes) if (one.status === "rejected") refusal("APPROVAL_REQUIRED")(one.reason);
  });

  it("stays used after a crash, and usable when it was not used", async (t) => {
    const { claims, record, storage, clock, ask, queue } = await allowed(t);
    const other = await ask();
    await queue.decide(other.record, ada);
    await claims.claim(claim(record.id));
    const next = new ApprovalStore(storage);
    await next.open(onlyOwner());
    const after = createClaims(next, clock);
    await assert.rejects(after.claim(claim(record.id)), refusal("APPROVAL_REQUIRED"));
    assert.equal((await after.claim(claim(other.record.id))).decision, "allow-once");
  });

  it("runs repeatedly with allow-always, until the grant is forgotten", async (t) => {
    const { claims, ask, queue, store } = await openDesk(t);
    const { record } = await ask();
    await queue.decide(record, always);
    for (let n = 0; n < 2; n++) assert.equal((await claims.claim(claim(record.id))).decision, "allow-always");
    const second = await ask();
    assert.equal((await claims.claim(claim(second.record.id))).decision, "allow-always");
    await store.forget(record.digest);
    for (const { id } of [record, second.record])
      await assert.rejects(claims.claim(claim(id)), refusal("APPROVAL_REQUIRED"));
  });

  const single: [code: string, changes: Partial<ExecClaim>][] = [
    ["MISSING_RUN_ID", { approvalId: undefined }],
    ["MISSING_RUN_ID", { approvalId: " " }],
    ["UNKNOWN_APPROVAL_ID", { approvalId: "*" }],
    ["APPROVAL_NODE_MISMATCH", { nodeId: "node-2" }],
    ["APPROVAL_NODE_MISMATCH", { nodeId: "NODE-1" }],
    ["APPROVAL_DEVICE_MISMATCH", { deviceId: "device-2" }],
    ["APPROVAL_DEVICE_MISMATCH", { deviceId: undefined, connectionId: "connection-1" }],
    ["APPROVAL_REQUEST_MISMATCH", { plan: { ...plan, argv: [...plan.argv, "-f"] } }],
    ["APPROVAL_REQUEST_MISMATCH", { plan: { ...plan, argv: ["/usr/bin/rm", "-r build dir"] } }],
    ["APPROVAL_REQUEST_MISMATCH", { plan: { ...plan, cwd: "/" } }],
    ["APPROVAL_REQUEST_MISMATCH", { plan: { ...plan, agentId: "other" } }],
    ["APPROVAL_REQUEST_MISMATCH", { plan: { ...plan, sessionKey: null } }],
    ["APPROVAL_ENV_MISMATCH", { env: undefined }],
    ["APPROVAL_ENV_MISMATCH", { env: {} }],
    ["APPROVAL_ENV_MISMATCH", { env: { TOKEN: "other" } }],
    ["APPROVAL_ENV_MISMATCH", { env: { TOKEN: SECRET, LD_PRELOAD: "x" } }],
  ];
  it("is refused with the code of what differs, and is still unused", async (t) => {
    const { claims, record } = await allowed(t);
    for (const [code, changes] of single)
      await assert.rejects(claims.claim(claim(record.id, changes)), refusal(code), JSON.stringify(changes));
    assert.equal((await claims.claim(claim(record.id))).decision, "allow-once");
  });

  it("is refused with APPROVAL_ENV_BINDING_MISSING when no environment was allowed, with names and hashes", async (t) => {
    const { env: _env, ...bare } = nodeRequest;
    const { claims, record } = await allowed(t, { asked: askedCommand(bare) });
    await assert.rejects(claims.claim(claim(record.id)), (error: Error & { details?: Record<string, unknown> }) => {
      refusal("APPROVAL_ENV_BINDING_MISSING")(error);
      assert.deepEqual(error.details?.["envKeys"], ["TOKEN"]);
      assert.equal(error.details?.["expectedEnvHash"], null);
      assert.match(String(error.details?.["actualEnvHash"]), /^[0-9a-f]{64}$/);
      assert.ok(!JSON.stringify([error.message, error.details]).includes(SECRET));
      return true;
    });
    assert.equal((await claims.claim(claim(record.id, { env: {} }))).decision, "allow-once");
  });

  it("is refused when it was allowed elsewhere, while nobody has decided, and when it was denied", async (t) => {
    const { claims, record, ask, queue } = await allowed(t, {
      asked: askedCommand({ ...nodeRequest, host: "gateway" }),
    });
    await assert.rejects(claims.claim(claim(record.id)), refusal("APPROVAL_NODE_BINDING_MISSING"));
    const { record: open } = await ask();
    await assert.rejects(claims.claim(claim(open.id)), refusal("APPROVAL_REQUIRED"));
    await queue.decide(open, { ...ada, decision: "deny" });
    await assert.rejects(claims.claim(claim(open.id)), refusal("APPROVAL_REQUIRED"));
  });

  it("is refused with APPROVAL_EXPIRED after the expiry, decided or not, for an admin as well", async (t) => {
    const { claims, record, ask, clock } = await allowed(t);
    const undecided = await ask();
    await clock.advance(120_000);
    await undecided.settled;
    for (const { id } of [record, undecided.record]) {
      await assert.rejects(claims.claim(claim(id)), refusal("APPROVAL_EXPIRED"));
    }
  });

  it("without a device belongs to its connection, and inside the gateway to its caller", async (t) => {
    const { claims, ask, queue } = await openDesk(t);
    const wire = await ask({ requester: { ...requester, deviceId: null } });
    const inner = await ask({ requester: { principalId: "plugin:exec", deviceId: null, connectionId: null } });
    for (const { record } of [wire, inner]) await queue.decide(record, ada);
    const plugin = { ...claim("").principal, id: "plugin:exec", provenance: "plugin" } as const;
    const noDevice = { deviceId: undefined, connectionId: undefined };
    const foreign: [id: string, changes: Partial<ExecClaim>][] = [
      [wire.record.id, { deviceId: undefined }],
      [wire.record.id, { deviceId: "device-1" }],
      [wire.record.id, noDevice],
      [wire.record.id, { connectionId: "connection-1", principal: plugin }],
      [inner.record.id, { ...noDevice }],
      [inner.record.id, { principal: plugin, deviceId: undefined }],
      [inner.record.id, { ...noDevice, principal: { ...plugin, id: "plugin:other" } }],
    ];
    for (const [id, changes] of foreign)
      await assert.rejects(claims.claim(claim(id, changes)), refusal("APPROVAL_CLIENT_MISMATCH"));
    const own = { deviceId: undefined, connectionId: "connection-1" };
    assert.equal((await claims.claim(claim(wire.record.id, own))).decision, "allow-once");
    const inside = await claims.claim(claim(inner.record.id, { ...noDevice, principal: plugin }));
    assert.equal(inside.decision, "allow-once");
  });
});

describe("any single change", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom("", " ", "a", "b", "null", "\u0000", "é", "e\u0301"),
  );
  const maybe = fc.option(text, { nil: null });
  const plans = fc.record({
    argv: fc.array(text, { minLength: 1, maxLength: 4 }).filter(([program]) => program?.trim() !== ""),
    cwd: maybe,
    agentId: maybe,
    sessionKey: maybe,
  });
  const runs = fc.record({
    plan: plans,
    env: fc.dictionary(text.filter(Boolean), text, { maxKeys: 3 }),
    nodeId: text.filter(Boolean),
  });
  type Run = typeof runs extends fc.Arbitrary<infer R> ? R : never;
  /** An empty text counts as absent; the order of variables does not count. */
  const normal = (value: object) =>
    JSON.stringify(value, (key, inner: unknown) =>
      key === "env" ? Object.entries(inner as object).sort(([a], [b]) => (a < b ? -1 : 1)) : inner,
    );
  const absent = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inner === "" ? null : (inner ?? null)]));
  const same = ({ plan: { argv, cwd, agentId, sessionKey }, env, nodeId }: Run) =>
    normal({ ...absent({ cwd, agentId, sessionKey }), argv, env, nodeId });
  const asked = (run: Run) =>
    askedCommand({
      command: "x",
      host: "node",
      nodeId: run.nodeId,
      systemRunPlan: { ...run.plan, rawCommand: null },
      env: run.env,
    });
  /** Copies of the first with one part taken from the second. */
  const pairs = fc
    .tuple(runs, runs, fc.constantFrom("argv", "cwd", "agentId", "sessionKey", "env", "nodeId", "none"))
    .map(([one, two, part]): [Run, Run] => {
      if (part === "env" || part === "nodeId") return [one, { ...one, [part]: two[part] }];
      if (part === "none") return [one, structuredClone(one)];
      const key = part as keyof Run["plan"];
      return [one, { ...one, plan: { ...one.plan, [key]: two.plan[key] } }];
    });

  const answer = {
    status: "decided",
    decision: "allow-once",
    reason: null,
    resolvedBy: "Ada",
    grant: null,
    owner: null,
  } as const;
  const DECIDED = { ...answer, requester, createdAt: 0, expiresAt: 10, resolvedAt: 1, usedAt: null };

  it("of a command changes the digest and is refused by its approval, and nothing else is", () => {
    fc.assert(
      fc.property(pairs, ([one, two]) => {
        assert.equal(asked(one).digest === asked(two).digest, same(one) === same(two));
        const record: ApprovalRecord = {
          ...asked(one),
          id: "a",
          ...DECIDED,
        };
        const bound = asked(two);
        const fault = mismatch(
          record,
          claim("a", { nodeId: two.nodeId, plan: bound.plan ?? assert.fail(), env: two.env }),
          5,
        );
        assert.equal(fault === undefined, same(one) === same(two));
      }),
      { numRuns: 2_000 },
    );
  });

  it("of a command on another host changes the digest", () => {
    const elsewhere = fc.record({
      command: text.filter(Boolean),
      commandArgv: fc.option(fc.array(text, { maxLength: 3 }), { nil: undefined }),
      cwd: maybe,
      host: fc.constantFrom(null, "gateway", "sandbox"),
      agentId: maybe,
      sessionKey: maybe,
      env: fc.dictionary(text.filter(Boolean), text, { maxKeys: 2 }),
    });
    const parts = (one: Record<string, unknown>) => normal(absent(one));
    const digest = (one: Record<string, unknown>) => {
      const { commandArgv, ...rest } = one;
      return askedCommand({ ...rest, ...(commandArgv !== undefined && { commandArgv }) } as typeof nodeRequest).digest;
    };
    fc.assert(
      fc.property(
        elsewhere,
        elsewhere,
        fc.constantFrom("command", "commandArgv", "cwd", "host", "agentId", "sessionKey", "env"),
        (one, two, part) => {
          const changed = { ...one, [part]: two[part as keyof typeof two] };
          assert.equal(digest(one) === digest(changed), parts(one) === parts(changed));
          assert.notEqual(
            digest(one),
            asked({ plan: { argv: ["x"], cwd: null, agentId: null, sessionKey: null }, env: {}, nodeId: "n" }).digest,
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
