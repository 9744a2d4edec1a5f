/** The plugin in a gateway: requests and responses, who gets which events, and what survives a restart. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, type Plugin, Type } from "@svc/sdk";
import {
  type ApprovalGrant,
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
  execApprovals,
  ExecApprovals,
  pluginApproval,
  question,
} from "@svc/sdk/approvals";
import { config } from "@svc/sdk/config";
import { createDevice } from "@svc/sdk/device";
import { Approver } from "@svc/sdk/gateway";
import { type NodeAnswer, Nodes } from "@svc/sdk/nodes";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import approvals from "../../../plugins/approvals/plugin.ts";
import { directory } from "../../directory.ts";
import { connectRaw } from "../../raw-socket.ts";
import { until as untilSo } from "../webhook-scene.ts";
import { claim, nodeRequest, plan } from "./scene.ts";

interface Options {
  readonly approvals?: object;
  readonly plugins?: readonly Plugin[];
  readonly stateDir?: string;
}

const start = (t: TestContext, { approvals: section, plugins = [], stateDir }: Options = {}) =>
  testGateway(t, {
    plugins: ["storage-sqlite", approvals, ...plugins],
    config: section ? { approvals: section } : {},
    ...(stateDir !== undefined && { stateDir }),
  });

type Client = TestGateway["client"];

/** Events of a client, as they come. */
function heard(client: Client) {
  const requested: { id: string; request: { command: string; digest?: string; session?: string } }[] = [];
  const resolved: { id: string; decision: string; resolvedBy?: string; grant?: ApprovalGrant }[] = [];
  client.on(execApprovalRequested, (payload) => requested.push(payload));
  client.on(execApprovalResolved, (payload) => resolved.push(payload));
  const until = (holds: () => boolean) => untilSo(holds, "the event");
  return { requested, resolved, until };
}

/** Asks, and waits until the approver has been notified. */
async function asked(client: Client, ears: ReturnType<typeof heard>, params: object = {}) {
  const before = ears.requested.length;
  const answer = client.call(execApproval.request, { ...nodeRequest, ...params });
  answer.catch(() => {}); // checked by the test
  await ears.until(() => ears.requested.length > before);
  return { id: ears.requested.at(-1)?.id ?? assert.fail(), answer };
}

describe("plugin.approval.list and question.list", () => {
  it("are empty, also while something waits for a decision", async (t) => {
    const { client, connect } = await start(t);
    const approver = await connect({ scopes: ["operator.approvals", "operator.read"] });
    await asked(client, heard(approver));
    assert.deepEqual(await approver.call(pluginApproval.list, {}), []);
    assert.deepEqual(await approver.call(question.list, {}), { questions: [] });
  });
});

describe("exec.approval", () => {
  it("asks, notifies approvers, and returns their first decision", async (t) => {
    const { client, connect } = await start(t);
    const approver = await connect({ client: { displayName: "Ada's phone" }, scopes: ["operator.approvals"] });
    const ears = heard(approver);
    const { id, answer } = await asked(client, ears);
    const [event] = ears.requested;
    assert.deepEqual(event?.request.command, "/usr/bin/rm -r 'build dir'");
    assert.deepEqual(await approver.call(execApproval.resolve, { id, decision: "allow-once" }), { ok: true });
    const result = await answer;
    assert.deepEqual(Object.keys(result).sort(), ["createdAtMs", "decision", "expiresAtMs", "id"]);
    const { createdAtMs, expiresAtMs } = result;
    assert.deepEqual([result.id, result.decision, expiresAtMs - createdAtMs], [id, "allow-once", 120_000]);
    await ears.until(() => ears.resolved.length === 1);
    const [{ decision, resolvedBy } = assert.fail()] = ears.resolved;
    assert.deepEqual([decision, resolvedBy], ["allow-once", "Ada's phone"]);
    const { approvals: rows } = await approver.call(execApproval.list, {});
    const [row] = rows;
    assert.deepEqual(
      [row?.id, row?.status, row?.decision, row?.resolvedBy],
      [id, "decided", "allow-once", "Ada's phone"],
    );

    const second = await asked(client, ears);
    const others = await Promise.all([connect(), connect(), connect()]);
    const decide = (one: Client, n: number) =>
      one.call(execApproval.resolve, { id: second.id, decision: n === 0 ? "deny" : "allow-once" });
    const outcomes = await Promise.allSettled(others.map(decide));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    for (const one of outcomes) {
      if (one.status === "rejected") assert.match(one.reason.message, /already decided.*first decision counts/);
    }
    await ears.until(() => ears.resolved.length === 2);
    assert.equal((await second.answer).decision, ears.resolved[1]?.decision);
  });

  it("accepts first in two phases, under the requested id; returns null on expiry, without an event, and refuses later decisions [W2.13]", async (t) => {
    const { client } = await start(t);
    const ears = heard(client);
    const accepted: unknown[] = [];
    const answer = client.call(
      execApproval.request,
      { ...nodeRequest, id: "mine", twoPhase: true, timeoutMs: 60_000 },
      { expectFinal: true, onAccepted: (payload) => accepted.push(payload) },
    );
    await ears.until(() => ears.requested.length === 1);
    const waited = client.call(execApproval.waitDecision, { id: " mine " });
    await client.call(execApproval.resolve, { id: "mine", decision: "deny" });
    const final = await answer;
    const { createdAtMs, expiresAtMs } = final;
    assert.deepEqual(final, { id: "mine", decision: "deny", createdAtMs, expiresAtMs });
    assert.deepEqual(accepted, [{ status: "accepted", id: "mine", createdAtMs, expiresAtMs }]);
    assert.equal(expiresAtMs - createdAtMs, 60_000);
    assert.deepEqual(await waited, final);
    assert.deepEqual(await client.call(execApproval.waitDecision, { id: "mine" }), final);

    const { id, decision } = await client.call(execApproval.request, { ...nodeRequest, timeoutMs: 30 });
    assert.equal(decision, null);
    assert.equal((await client.call(execApproval.waitDecision, { id })).decision, null);
    const late = client.call(execApproval.resolve, { id, decision: "allow-once" });
    await assert.rejects(late, { code: "INVALID_REQUEST", message: /expired/ });
    assert.deepEqual([ears.requested.length, ears.resolved.length], [2, 1]);
  });

  const request = (changes: object) => ["request", { ...nodeRequest, ...changes }] as const;
  const refused: [what: string, call: readonly [method: string, params: object], message: RegExp, code?: string][] = [
    ["a blank id to wait for", ["waitDecision", { id: " " }], /id is missing/],
    ["no id to wait for", ["waitDecision", {}], /id is missing/],
    ["an unknown id to wait for", ["waitDecision", { id: "x" }], /^approval expired or not found$/, "NOT_FOUND"],
    ["an unknown id to decide", ["resolve", { id: "x", decision: "deny" }], /svc approvals list/, "NOT_FOUND"],
    ["another decision", ["resolve", { id: "x", decision: "allow" }], /allow-once, allow-always or deny/],
    ["a blank id of one's own", request({ id: " " }), /characters/],
    ["an endless id", request({ id: "x".repeat(201) }), /200/],
    ["a plan with a key missing", request({ systemRunPlan: { argv: ["x"] } }), /systemRunPlan/],
    ["an unknown key", request({ approved: true }), /approved/],
  ];
  it("refuses invalid input naming the field", async (t) => {
    const { client } = await start(t);
    for (const [what, [method, params], message, code = "INVALID_REQUEST"] of refused)
      await assert.rejects(client.request(`exec.approval.${method}`, params), { code, message }, what);
    await assert.rejects(client.call(execApprovals.forget, { digest: "x" }), {
      code: "NOT_FOUND",
      message: /svc approvals grants/,
    });
    const ears = heard(client);
    const { id, answer } = await asked(client, ears, { id: "taken" });
    await assert.rejects(client.call(execApproval.request, { ...nodeRequest, id }), { message: /already exists/ });
    await client.call(execApproval.resolve, { id, decision: "deny" });
    await answer;
    await assert.rejects(client.call(execApproval.request, { ...nodeRequest, id }), { message: /already exists/ });
  });

  it("reports allow-always of an existing client unchanged, and allow-once under a grant with a chosen end, so that no client stores it for longer", async (t) => {
    const { client } = await start(t);
    const ears = heard(client);
    const { id, answer } = await asked(client, ears);
    assert.deepEqual(await client.request("exec.approval.resolve", { id, decision: "allow-always" }), { ok: true });
    assert.equal((await answer).decision, "allow-always");
    await ears.until(() => ears.resolved.length === 1);
    assert.deepEqual(Object.keys(ears.resolved[0] ?? {}).sort(), ["decision", "id", "request", "resolvedBy", "ts"]);
    assert.equal(ears.resolved[0]?.decision, "allow-always");
    assert.equal((await client.call(execApproval.request, nodeRequest)).decision, "allow-always");
    const [row] = (await client.call(execApprovals.grants, {})).grants;
    assert.deepEqual([row?.for, (row?.expiresAtMs ?? 0) - (row?.createdAtMs ?? 0)], ["this", 90 * 86_400_000]);

    await client.call(execApprovals.forget, { digest: row?.digest ?? assert.fail() });
    const timed = await asked(client, ears);
    const grant = { durationMs: 3_600_000 };
    await client.call(execApproval.resolve, { id: timed.id, decision: "allow-always", grant });
    await ears.until(() => ears.resolved.length === 2);
    const { decision, grant: told } = ears.resolved[1] ?? assert.fail();
    assert.deepEqual([(await timed.answer).decision, decision, told?.for], ["allow-once", "allow-once", "this"]);
    assert.equal((await client.call(execApproval.request, nodeRequest)).decision, "allow-once");
    const { approvals: rows } = await client.call(execApproval.list, {});
    assert.deepEqual(rows.find((one) => one.id === timed.id)?.grant, told);
    assert.equal(rows.filter(({ reason }) => reason === "a grant allows it").length, 2);
    const [ending] = (await client.call(execApprovals.grants, {})).grants;
    assert.equal(ending?.expiresAtMs, told?.expiresAtMs);
  });

  const grants: readonly [grant: object, decision: string, message: RegExp][] = [
    [{ durationMs: 60_000 }, "allow-once", /grant requires allow-always/],
    [{}, "deny", /grant requires allow-always/],
    [{ for: "session" }, "allow-always", /grant\.for: this question offers no grant for the session/],
    [{ for: "agent" }, "allow-always", /for/],
    [{ durationMs: 59_999 }, "allow-always", /durationMs/],
    [{ durationMs: 90 * 86_400_000 + 1 }, "allow-always", /durationMs/],
  ];
  it("refuses a grant that is not offered or invalid, and the question stays pending", async (t) => {
    const { client } = await start(t, { plugins: [insider()] });
    const ears = heard(client);
    const { id } = await asked(client, ears);
    for (const [grant, decision, message] of grants) {
      const resolved = client.request("exec.approval.resolve", { id, decision, grant });
      await assert.rejects(resolved, { code: "INVALID_REQUEST", message }, JSON.stringify(grant));
    }
    void client.request("probe.ask");
    await ears.until(() => ears.requested.length === 2);
    const [, offering = assert.fail()] = ears.requested;
    assert.equal(offering.request.session, "all of it");
    const day = { for: "session", durationMs: 24 * 3_600_000 } as const;
    const longer = { id: offering.id, decision: "allow-always", grant: { ...day, durationMs: day.durationMs + 1 } };
    await assert.rejects(client.request("exec.approval.resolve", longer), { message: /lasts at most 24 h/ });
    const { approvals: rows } = await client.call(execApproval.list, {});
    assert.ok(rows.length === 2 && rows.every(({ status }) => status === "pending"));
    await client.call(execApproval.resolve, { id: offering.id, decision: "allow-always", grant: day });
    const [kept, ...more] = (await client.call(execApprovals.grants, {})).grants;
    assert.deepEqual([kept?.command, kept?.for, more], ["all of it", "session", []]);
  });

  it("stays pending when the requester disconnects", async (t) => {
    const { gateway, client } = await start(t);
    const ears = heard(client);
    const socket = await connectRaw(gateway.url, gateway.auth.token, { scopes: ["operator.approvals"] });
    socket.send({ type: "req", id: "r", method: "exec.approval.request", params: { ...nodeRequest, id: "left" } });
    await ears.until(() => ears.requested.length === 1);
    socket.ws.terminate();
    await socket.closed;
    const waited = client.call(execApproval.waitDecision, { id: "left" });
    await client.call(execApproval.resolve, { id: "left", decision: "allow-once" });
    assert.equal((await waited).decision, "allow-once");
    assert.equal(
      gateway.plugins().find(({ id }) => id === "approvals")?.errors,
      0,
      "leaving is no error of the plugin",
    );
  });
});

describe("a list of approvers", () => {
  it("lets only these decide and be notified; other clients see their own questions", async (t) => {
    const [ada, bob] = [createDevice(), createDevice()];
    const { client, connect } = await start(t, { approvals: { approvers: [ada.id] } });
    const phone = await connect({ device: ada });
    const other = await connect({ device: bob });
    const [earsOfAda, earsOfBob, earsOfCli] = [heard(phone), heard(other), heard(client)];
    const { id, answer } = await asked(client, earsOfAda);
    for (const one of [client, other]) {
      await assert.rejects(one.call(execApproval.resolve, { id, decision: "allow-once" }), {
        code: "INVALID_REQUEST",
        message: /not an approver/,
        details: { code: "NOT_AN_APPROVER" },
      });
    }
    assert.deepEqual((await other.call(execApproval.list, {})).approvals, []);
    assert.equal((await client.call(execApproval.list, {})).approvals.length, 1);
    await phone.call(execApproval.resolve, { id, decision: "deny" });
    assert.equal((await answer).decision, "deny");
    await other.call(execApproval.list, {});
    for (const { requested, resolved } of [earsOfBob, earsOfCli]) assert.deepEqual([requested, resolved], [[], []]);
    assert.equal(earsOfAda.resolved.length, 1);
    await phone.close();
    assert.equal((await client.call(execApproval.request, nodeRequest)).decision, null, "nobody on the list is here");
    const { approvals: rows } = await client.call(execApproval.list, {});
    assert.ok(rows.some(({ status, reason }) => status === "expired" && reason === "nobody to ask"));
  });
});

it("targets in chats alone change nothing, since existing configurations have the key", async (t) => {
  const { gateway } = await start(t, { approvals: { exec: { enabled: false, targets: [] } } });
  assert.equal(gateway.plugins().find(({ id }) => id === "approvals")?.state, "active");
});

const open = { summary: "-", scope: "operator.read", params: Type.Unknown(), result: Type.Unknown() } as const;
const probe = defineContract("probe", { request: open, resolve: open, ask: open, claim: open });

/** Calls the gateway from inside, as a tool would. */
const insider = () =>
  definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires: { approver: Approver, exec: ExecApprovals },
    setup(gateway) {
      const { approver, exec } = gateway.services;
      gateway.serve(probe, {
        request: ({ principal }) => gateway.call(execApproval.request, { ...nodeRequest, id: "inner" }, { principal }),
        resolve: ({ principal }) =>
          gateway.call(execApproval.resolve, { id: "inner", decision: "allow-once" }, { principal }),
        ask: () =>
          approver.ask({
            title: "may I?",
            subject: { a: 1 },
            session: { title: "all of it", subject: { conversation: 1 } },
            kind: "test",
            askedBy: "probe",
          }),
        claim: ({ principal }) =>
          exec.claim(claim("inner", { principal, deviceId: undefined, connectionId: undefined })),
      });
    },
  });

describe("within the gateway", () => {
  it("any caller may ask and use an approval, only a client may decide, and gates get the decision", async (t) => {
    const { client } = await start(t, { plugins: [insider()] });
    const ears = heard(client);
    const answer = client.request("probe.request");
    await ears.until(() => ears.requested.length === 1);
    await assert.rejects(client.request("probe.resolve"), { details: { code: "NOT_AN_APPROVER" } });
    await client.call(execApproval.resolve, { id: "inner", decision: "allow-once" });
    assert.equal(((await answer) as { decision: string }).decision, "allow-once");
    assert.deepEqual(await client.request("probe.claim"), { decision: "allow-once", plan });
    await assert.rejects(client.request("probe.claim"), { details: { code: "APPROVAL_REQUIRED", runId: "inner" } });

    const gate = client.request("probe.ask");
    await ears.until(() => ears.requested.length === 2);
    const [, { id, request } = assert.fail()] = ears.requested;
    assert.equal(request.command, "may I?");
    await client.call(execApproval.resolve, { id, decision: "allow-always" });
    assert.deepEqual(await gate, { id, decision: "allow-always" });
    const again = (await client.request("probe.ask")) as { decision: string };
    assert.equal(again.decision, "allow-always");
    assert.equal(ears.requested.length, 2);
    const { grants } = await client.call(execApprovals.grants, {});
    const [{ kind, command, digest } = assert.fail(), ...more] = grants;
    assert.deepEqual([kind, command, digest, more], ["question:test", "may I?", request.digest, []]);
  });
});

describe("a restart", () => {
  it("closes pending questions and preserves grants, until they are forgotten", async (t) => {
    const stateDir = directory(t);
    const first = await start(t, { stateDir });
    const ears = heard(first.client);
    const granted = await asked(first.client, ears);
    await first.client.call(execApproval.resolve, { id: granted.id, decision: "allow-always" });
    await granted.answer;
    const waiting = await asked(first.client, ears, { ask: "always" });
    await first.gateway.stop();
    await assert.rejects(waiting.answer, { code: "UNAVAILABLE" });

    const { client } = await start(t, { stateDir });
    const { approvals: rows } = await client.call(execApproval.list, {});
    const row = rows.find(({ id }) => id === waiting.id);
    assert.deepEqual([row?.status, row?.reason, row?.decision], ["expired", "restart", undefined]);
    assert.equal((await client.call(execApproval.waitDecision, { id: waiting.id })).decision, null);
    await assert.rejects(client.call(execApproval.resolve, { id: waiting.id, decision: "allow-once" }), {
      message: /expired/,
    });

    const same = await client.call(execApproval.request, nodeRequest);
    assert.equal(same.decision, "allow-always");
    const { grants } = await client.call(execApprovals.grants, {});
    assert.equal(grants.length, 1);
    assert.ok(grants[0]?.lastUsedAtMs);
    const digest = grants[0]?.digest ?? assert.fail();
    assert.deepEqual(await client.call(execApprovals.forget, { digest }), { digest });
    const anew = heard(client);
    await asked(client, anew);
  });
});

it("policy files of nodes come from the node", async (t) => {
  const asks: unknown[] = [];
  const answers: NodeAnswer[] = [
    { payload: { path: "/p" }, payloadJSON: null },
    { payload: { hash: "h" }, payloadJSON: '{"hash":"h"}' },
    { payload: { hash: "h" }, payloadJSON: null },
  ];
  const nodes = definePlugin({
    id: "fake-nodes",
    api: "^1.0.0",
    provides: [Nodes],
    setup(gateway) {
      gateway.provide(Nodes, {
        list: async () => [],
        invoke: () => assert.fail("not asked for"),
        browserRouting: () => assert.fail("not asked for"),
        async policyFile(...args) {
          asks.push(args);
          return answers.shift() ?? assert.fail();
        },
      });
    },
  });
  const { client } = await start(t, { plugins: [nodes] });
  assert.deepEqual(await client.call(execApprovals.nodeGet, { nodeId: "n" }), { path: "/p" });
  const change = { file: { version: 1 as const }, baseHash: "b" };
  assert.deepEqual(await client.call(execApprovals.nodeSet, { nodeId: "n", ...change }), { hash: "h" });
  assert.equal(await client.call(execApprovals.nodeSet, { nodeId: "n", ...change }), undefined);
  assert.deepEqual(asks, [["n"], ["n", change], ["n", change]]);
});

it("a new list of approvers takes effect at once, and pending questions stay", async (t) => {
  const stateDir = directory(t);
  const { client } = await testGateway(t, {
    plugins: ["storage-sqlite", "config", approvals],
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
  });
  const setApprovers = async (approvers: readonly string[] | null) => {
    const { hash } = await client.call(config.get, {});
    await client.call(config.patch, { raw: JSON.stringify({ approvals: { approvers } }), baseHash: hash });
  };
  const ears = heard(client);
  const { id, answer } = await asked(client, ears);
  await setApprovers(["somebody-else"]);
  await assert.rejects(client.call(execApproval.resolve, { id, decision: "deny" }), {
    details: { code: "NOT_AN_APPROVER" },
  });
  await setApprovers(null);
  await client.call(execApproval.resolve, { id, decision: "deny" });
  assert.equal((await answer).decision, "deny");
});
