import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import type { WebhookActionContext, WebhookFields } from "@svc/sdk/webhooks";
import webhookAgent from "../../../plugins/webhook-agent/plugin.ts";
import { mergeWake } from "../../../plugins/webhook-wake/fields.ts";
import webhookWake from "../../../plugins/webhook-wake/plugin.ts";
import { readWake } from "../../../plugins/webhook-wake/preparation.ts";
import { MAIN, openScene, systemOf, until } from "../webhook-scene.ts";

const limited = { timeout: 120_000 };
type Source = WebhookActionContext["source"];

it("the actions of the bundle claim the keys that their mappings may have", limited, async (t) => {
  const { action } = await (await openScene(t)).start();
  const plugins = { agent: webhookAgent, wake: webhookWake };
  for (const [id, { sections = {} }] of Object.entries(plugins)) {
    assert.deepEqual(Object.keys(sections), [`hooks.mappings[${id}]`]);
    const claimed = sections[`hooks.mappings[${id}]`];
    assert.deepEqual({ ...action(id).mappingFields, additionalProperties: false }, claimed);
  }
});

describe("the fields of a wake", () => {
  const accepted: [what: string, fields: WebhookFields, params: object, source?: Source][] = [
    ["text alone wakes", { text: " Door open " }, { text: "Door open" }],
    ["now", { mode: "now" }, {}],
    ["next-heartbeat", { mode: "next-heartbeat" }, { mode: "next-heartbeat" }],
    ["mode null", { mode: null }, {}],
    ["a blank mode of a mapping", { mode: " " }, {}, "mapping"],
    ["wakeMode of a request is no field", { wakeMode: "next-heartbeat" }, {}],
    ["a name", { name: " a\nb <b> " }, { name: "a b b" }],
    ["a name of 100 characters", { name: "n".repeat(100) }, { name: "n".repeat(80) }],
    ["a name that is a number", { name: 7 }, {}],
  ];
  for (const [what, fields, params, source = "request"] of accepted) {
    it(`accepts ${what}`, () => {
      const read = readWake({ text: "x", ...fields }, source, MAIN);
      assert.deepEqual(read, { text: "x", mode: "now", ...params, sessionKey: MAIN });
    });
  }

  const mode = "mode must be now or next-heartbeat";
  const refused: [what: string, fields: WebhookFields, source: Source, message: string][] = [
    ["no text", {}, "request", "text required"],
    ["a blank text", { text: " \n" }, "request", "text required"],
    ["a text that is none", { text: ["x"] }, "request", "text required"],
    ["no text of a mapping", { text: "" }, "mapping", "hook mapping requires text"],
    ["another mode", { text: "x", mode: "later" }, "request", mode],
    ["a blank mode of a request", { text: "x", mode: "" }, "request", mode],
    ["a mode that is no text", { text: "x", mode: 1 }, "request", mode],
    ["another mode of a mapping", { text: "x", mode: "later" }, "mapping", `${mode} (wakeMode)`],
  ];
  for (const [what, fields, source, message] of refused) {
    it(`refuses ${what}`, () =>
      assert.throws(() => readWake(fields, source, MAIN), { code: "INVALID_REQUEST", message }));
  }
});

describe("overrides of a transform for a wake", () => {
  const base = { text: "base", mode: "now", name: "n" };
  const cases: [what: string, override: WebhookFields, merged: object][] = [
    ["a text", { text: "other" }, { text: "other" }],
    ["a text that is none", { text: 5, name: null }, {}],
    ["mode next-heartbeat", { mode: "next-heartbeat" }, { mode: "next-heartbeat" }],
    ["wakeMode next-heartbeat", { wakeMode: "next-heartbeat" }, { mode: "next-heartbeat" }],
    ["another mode", { mode: "later", wakeMode: true }, {}],
    ["keys of others", { kind: "wake", message: "m" }, {}],
  ];
  for (const [what, override, merged] of cases) {
    it(`applies only valid overrides: ${what}`, () =>
      assert.deepEqual(mergeWake(base, override), { ...base, ...merged }));
  }
  it("cannot make it more urgent", () => {
    const calm = { ...base, mode: "next-heartbeat" };
    assert.deepEqual(mergeWake(calm, { mode: "now", wakeMode: "now" }), calm);
  });
});

describe("the action wake", limited, () => {
  it("is stored with the webhook, returns the mode, and wakes the main session", async (t) => {
    const scene = await openScene(t, { replies: () => ({ text: "Noted" }) });
    const gateway = await scene.start();
    const { reply, sessionKey } = await gateway.prepare("wake", { text: "Door open", name: "Door" });
    assert.deepEqual([reply, sessionKey], [{ mode: "now" }, MAIN]);
    await gateway.wake({ text: "Door open", name: "Door" });
    await until(() => scene.server.requests.length === 1, "the turn");
    const system = systemOf(scene.server.requests[0] ?? assert.fail());
    assert.match(system, /- \[Sat 2026-01-03 .*\] Door: Door open$/m);
    await until(async () => (await gateway.outline(MAIN)).length === 2, "the answer");
    assert.deepEqual(await gateway.events.waiting(MAIN), []);
  });

  it("waits for the next turn if it is not urgent", async (t) => {
    const scene = await openScene(t);
    const gateway = await scene.start();
    await gateway.wake({ text: "Mail", mode: "next-heartbeat" });
    const [event] = await gateway.events.waiting(MAIN);
    assert.deepEqual(event, {
      id: "w1",
      sessionKey: MAIN,
      text: "Mail",
      wake: "next-heartbeat",
      reason: "hook:wake",
      origin: outsideOrigin("webhook"),
      isMarked: true,
      at: Date.UTC(2026, 0, 3, 12),
    });
    assert.equal(await gateway.turn("t1"), "ok");
    assert.match(systemOf(scene.server.requests[0] ?? assert.fail()), /Mail/);
    assert.equal(scene.server.requests.length, 1);
  });
});
