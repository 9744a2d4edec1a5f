/**
 * Every gate of the catalogue, with a plugin that lets people decide: if the catalogue says that the gate allows questions,
 * one person is asked once and the answer applies; everywhere else the question counts as a denial, and no person is asked.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Denial, type GatewayHooks, HOOKS } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { createDevice } from "@svc/sdk/device";
import { models } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import type { TestGateway } from "@svc/sdk/testing";
import { BUNDLE } from "./config-bundle.ts";
import { fileGateway } from "./file-gateway.ts";
import { HOOKS_SECTION } from "./hook-runs.ts";
import { until } from "../until.ts";

const limited = { timeout: 120_000 };

/** Return value of a handler; the type of a gate's handler does not matter here. */
type Answer = () => Denial | { allow: "ask"; title: string; subject: unknown; timeoutMs?: number } | undefined;
const DONE = "it happened";
const told = (error: Error) => error.message;

interface Gate {
  tap(hooks: GatewayHooks, answer: Answer): void;
  /** Passes the gate. @returns `DONE`, or the message instead */
  walk(running: TestGateway): Promise<string>;
}

let serial = 0;

async function converse({ client }: TestGateway, message: string): Promise<string> {
  const params = { message, sessionKey: "main", idempotencyKey: `gate-${++serial}` };
  return client.call(agents.run, params, { expectFinal: true }).then(() => DONE, told);
}

/** Every hook of kind `gate`. */
const GATES: Readonly<Record<string, Gate>> = {
  configValidate: {
    tap: (hooks, answer) => hooks.configValidate.tap(answer),
    async walk({ client }) {
      const { hash } = await client.call(config.get, {});
      const raw = `{ logging: { level: '${serial++ % 2 ? "error" : "warn"}' } }`;
      return client.call(config.patch, { raw, baseHash: hash }).then(() => DONE, told);
    },
  },
  admit: {
    tap: (hooks, answer) => hooks.admit.tap((admission) => (admission.device ? answer() : undefined)),
    walk: ({ connect }) => connect({ device: createDevice() }).then(() => DONE, told),
  },
  admitDevice: {
    tap: (hooks, answer) => hooks.admitDevice.tap(answer),
    walk: ({ connect }) => connect({ device: createDevice() }).then(() => DONE, told),
  },
  rpcBefore: {
    tap: (hooks, answer) => hooks.rpcBefore.for(models.list.name).tap(answer),
    walk: ({ client }) => client.call(models.list, {}).then(() => DONE, told),
  },
  webhookBefore: {
    tap: (hooks, answer) => hooks.webhookBefore.for("wake").tap(answer),
    async walk({ gateway }) {
      const answer = await fetch(`${gateway.url.replace("ws", "http")}/hooks/wake`, {
        method: "POST",
        headers: { authorization: `Bearer ${HOOKS_SECTION.token}` },
        body: JSON.stringify({ text: `hi ${++serial}`, mode: "next-heartbeat" }),
      });
      return answer.status === 200 ? DONE : answer.text();
    },
  },
  sessionReplacing: {
    tap: (hooks, answer) => hooks.sessionReplacing.tap(answer),
    async walk({ client }) {
      return client.call(sessions.reset, { key: "main" }).then(() => DONE, told);
    },
  },
  runBefore: {
    tap: (hooks, answer) => hooks.runBefore.tap(answer),
    walk: (running) => converse(running, "echo hi"),
  },
  toolBefore: {
    tap: (hooks, answer) => hooks.toolBefore.for("session_status").tap(answer),
    async walk(running) {
      assert.equal(await converse(running, "status"), DONE);
      const { messages } = await running.client.call(chat.history, { sessionKey: "main" });
      // The model gets the message; of several turns the last one counts.
      const results = messages.map((message) => JSON.stringify(message)).filter((text) => /tool/i.test(text));
      const denial = /(a person denied it|nobody answered in time|asked for a human decision)[^"]*/.exec(
        results.at(-1) ?? "",
      );
      return denial?.[0] ?? DONE;
    },
  },
};

const SETTINGS = JSON.stringify({ "provider-offline": { wordDelayMs: 0 }, hooks: HOOKS_SECTION });

/** The full bundle, one gate tapped, and how often people were asked. */
async function start(t: TestContext, gate: Gate, timeoutMs = 60_000) {
  const asker = definePlugin({
    id: "asker",
    api: "^1.0.0",
    setup: ({ hooks }) =>
      gate.tap(hooks, () => ({ allow: "ask", title: "Shall it be?", subject: { of: "this test" }, timeoutMs })),
  });
  const running = await fileGateway(t, SETTINGS, { plugins: [...BUNDLE, asker] });
  const asked: string[] = [];
  let answer: string | undefined;
  running.client.on(execApprovalRequested, ({ id, request }) => {
    asked.push(request.command);
    if (answer !== undefined) void running.client.call(execApproval.resolve, { id, decision: answer });
  });
  return { running, asked, answerWith: (decision: string) => void (answer = decision) };
}

describe("a gate with a plugin that lets people decide", limited, () => {
  it("is covered by this test", () => {
    const gates = Object.values(HOOKS).filter(({ kind }) => kind === "gate");
    assert.deepEqual(gates.map(({ name }) => name).toSorted(), Object.keys(GATES).toSorted());
  });

  it("is open without taps", async (t) => {
    const running = await fileGateway(t, SETTINGS);
    for (const [name, gate] of Object.entries(GATES)) assert.equal(await gate.walk(running), DONE, name);
  });

  for (const [name, gate] of Object.entries(GATES)) {
    const spec: { readonly asks?: boolean } = HOOKS[name as keyof typeof HOOKS];
    if (spec.asks !== true) {
      it(`${name}: stays closed, and no person is asked`, async (t) => {
        const { running, asked } = await start(t, gate);
        const outcome = await gate.walk(running);
        assert.notEqual(outcome, DONE);
        assert.deepEqual(asked, []);
      });
      continue;
    }
    it(`${name}: opens once when a person allows it once, and stays open when a person allows it always`, async (t) => {
      const { running, asked, answerWith } = await start(t, gate);
      answerWith("allow-once");
      assert.equal(await gate.walk(running), DONE);
      answerWith("deny");
      assert.match(await gate.walk(running), /denied it/);
      answerWith("allow-always");
      assert.equal(await gate.walk(running), DONE);
      assert.equal(await gate.walk(running), DONE);
      assert.deepEqual(asked, ["Shall it be?", "Shall it be?", "Shall it be?"]);
    });

    it(`${name}: stays closed without an answer`, async (t) => {
      const { running, asked } = await start(t, gate, 1);
      assert.match(await gate.walk(running), /nobody answered in time/);
      await until(() => asked.length > 0, "the question"); // on PostgreSQL, an event may arrive after an answer
      assert.deepEqual(asked, ["Shall it be?"]);
    });
  }
});
