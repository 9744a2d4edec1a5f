/** The tool `canvas` with nodes that answer. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineContract, type GatewayError, Type } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { type ToolCall, type ToolResult, Tools } from "@svc/sdk/tools";
import { pluginOf } from "../../plugin-of.ts";
import type { InvokeRequest, InvokeResult } from "../nodes/scene.ts";
import { canvasScene, FAR, pathOf } from "./scene.ts";

const limited = { timeout: 120_000 };
const COMMANDS = [
  "canvas.present",
  "canvas.hide",
  "canvas.navigate",
  "canvas.eval",
  "canvas.snapshot",
  "canvas.a2ui.push",
  "canvas.a2ui.pushJSONL",
  "canvas.a2ui.reset",
];
const PNG = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1").toString("base64");

const trial = defineContract("trial", {
  use: { summary: "-", scope: "none", params: Type.Object({ args: Type.Unknown() }), result: Type.Unknown() },
});

const user = pluginOf("user", { requires: { tools: Tools } }, (gateway) => {
  gateway.serve(trial, {
    async use({ params: { args }, principal }) {
      const place = { sessionKey: "agent:main:main", agentId: "main" };
      const given = args as ToolCall["arguments"]; // as the tests wrote them
      const call = { name: "canvas", arguments: given, toolCallId: "c1", runId: "r1", ...place };
      const about = { surface: "run", ...place, principal } as const;
      const made = await gateway.services.tools.attempt(call, about, new AbortController().signal);
      if (made.outcome !== "refused") return made;
      return { outcome: "refused", error: { code: made.error.code, message: made.error.message } };
    },
  });
});

interface Made {
  readonly outcome: string;
  readonly result?: ToolResult;
  readonly error?: Pick<GatewayError, "code" | "message">;
}

async function open(t: TestContext, section: object = {}) {
  const scene = await canvasScene(t, section, { plugins: ["tools", "sessions", user] });
  const attempt = async (args: object, scopes?: string[]) => {
    const client = scopes ? await scene.connect({ scopes }) : scene.client;
    return (await client.call(trial.use, { args })) as Made;
  };
  const use = async (args: object) => (await attempt(args)).result ?? assert.fail(JSON.stringify(await attempt(args)));
  const refusal = async (args: object, scopes?: string[]) => {
    const made = await attempt(args, scopes);
    return made.error ?? assert.fail(JSON.stringify(made));
  };
  const phone = (answer?: (request: InvokeRequest) => InvokeResult, displayName = "Phone", commands = COMMANDS) =>
    scene.node({
      commands,
      record: { platform: "ios", displayName },
      client: { platform: "ios", displayName },
      ...(answer && { answer }),
    });
  return { ...scene, use, refusal, phone };
}

const sentTo = ({ asked }: { asked: readonly InvokeRequest[] }) =>
  asked.map(({ command, paramsJSON }) => [command, JSON.parse(paramsJSON ?? "null") as unknown]);

describe("the tool canvas", limited, () => {
  it("sends each action as a command of the node", async (t) => {
    const { use, phone } = await open(t);
    const one = await phone(({ command }) =>
      command === "canvas.snapshot"
        ? { ok: true, payload: { format: "png", base64: PNG } }
        : { ok: true, payloadJSON: command === "canvas.eval" ? '{"result":"<b>hi</b>"}' : "null" },
    );
    const url = "https://example.com/x";
    const done = await use({ action: "present", url, x: 1, y: 2, width: 300, height: 400 });
    assert.equal(textOf(done), "Done.");
    await use({ action: "present" });
    await use({ action: "navigate", url });
    const told = await use({ action: "eval", javaScript: "document.title" });
    assert.match(textOf(told), /EXTERNAL[\s\S]*hi/);
    assert.deepEqual([told.origin?.kind, told.origin?.scopes], ["node", []]);
    const seen = await use({ action: "snapshot", format: "jpeg", maxWidth: 800, quality: 0.5 });
    assert.deepEqual(seen.content.at(-1), { type: "image", data: PNG, mimeType: "image/png" });
    await use({ action: "a2ui_push", jsonl: '{"a":1}\n\n {"b":2}\n' });
    await use({ action: "a2ui_reset" });
    await use({ action: " hide " });
    assert.deepEqual(sentTo(one), [
      ["canvas.present", { url, placement: { x: 1, y: 2, width: 300, height: 400 } }],
      ["canvas.present", {}],
      ["canvas.navigate", { url }],
      ["canvas.eval", { javaScript: "document.title" }],
      ["canvas.snapshot", { format: "jpeg", maxWidth: 800, quality: 0.5 }],
      ["canvas.a2ui.push", { messages: [{ a: 1 }, { b: 2 }] }],
      ["canvas.a2ui.reset", {}],
      ["canvas.hide", {}],
    ]);
    assert.ok(one.asked.every(({ idempotencyKey }) => idempotencyKey === "r1:c1"));
  });

  it("A2UI messages go to a node that only reads lines as lines", async (t) => {
    const { use, phone } = await open(t);
    const one = await phone(undefined, "Old", ["canvas.a2ui.pushJSONL"]);
    await use({ action: "a2ui_push", jsonl: '{"a":1}\n{"b":2}' });
    assert.deepEqual(sentTo(one), [["canvas.a2ui.pushJSONL", { jsonl: '{"a":1}\n{"b":2}' }]]);
  });

  it("a page of the gateway gets an address with the node's capability, which stays", async (t) => {
    const { use, phone, page, get, base } = await open(t);
    page("my chart.html", "<p>chart");
    const one = await phone();
    await use({ action: "present", page: "my chart.html" });
    await use({ action: "navigate", page: "/my chart.html" });
    const urls = one.asked.map(({ paramsJSON }) => (JSON.parse(paramsJSON ?? "{}") as { url: string }).url);
    assert.equal(urls[0], urls[1]);
    const { canvasHostUrl } = one.client.hello as { canvasHostUrl?: string };
    assert.equal(urls[0], `${canvasHostUrl}/__svc__/canvas/my%20chart.html`);
    assert.ok(urls[0]?.startsWith(base));
    assert.match((await get(pathOf(urls[0] ?? ""), FAR)).text, /chart/);
  });

  it("takes the only node with a canvas, or the named one", async (t) => {
    const { use, refusal, phone, node } = await open(t);
    await node();
    assert.match((await refusal({ action: "hide" })).message, /no connected node has a canvas/);
    const one = await phone(undefined, "Ann's phone");
    await use({ action: "hide" });
    const other = await phone(undefined, "Ann's tablet");
    assert.match((await refusal({ action: "hide" })).message, /several nodes match.*Ann's phone.*Ann's tablet/);
    assert.match((await refusal({ action: "hide", node: "ann" })).message, /several nodes match/);
    assert.match((await refusal({ action: "hide", node: "Bob" })).message, /node must be one of: Ann's/);
    await use({ action: "hide", node: "ann's TABLET" });
    await use({ action: "hide", node: one.id.slice(0, 8) });
    assert.deepEqual([one.asked.length, other.asked.length], [2, 1]);
  });

  it("refuses what cannot be sent, by name", async (t) => {
    const { refusal, phone } = await open(t);
    await phone();
    const refused = async (args: object, message: RegExp) => {
      const error = await refusal(args);
      assert.equal(error.code, "INVALID_REQUEST", JSON.stringify(error));
      assert.match(error.message, message);
    };
    await refused({ action: "dance" }, /unknown action; actions: present, hide/);
    await refused({}, /action/);
    await refused({ action: "navigate" }, /page or url is required/);
    await refused({ action: "present", page: "a", url: "b" }, /exclude each other/);
    await refused({ action: "eval", javaScript: " " }, /javaScript is required/);
    await refused({ action: "a2ui_push" }, /jsonl is required/);
    await refused({ action: "a2ui_push", jsonl: '{"a":1}\n[1]' }, /line 2 is not a JSON object/);
    await refused({ action: "a2ui_push", jsonl: "{" }, /line 1 is not a JSON object/);
    await refused({ action: "snapshot", format: "gif" }, /format/);
    await refused({ action: "hide", extra: 1 }, /extra/);
    const reader = await refusal({ action: "hide" }, ["operator.read"]);
    assert.match(reader.message, /operator\.write/);
  });

  it("passes on the refusals of a node; a snapshot without a picture is one", async (t) => {
    const { refusal, phone } = await open(t);
    let payload: unknown = { base64: Buffer.from("<svg/>").toString("base64") };
    await phone(({ command }) =>
      command === "canvas.snapshot"
        ? { ok: true, payload }
        : { ok: false, error: { code: "NODE_BACKGROUND_UNAVAILABLE", message: "open the app" } },
    );
    const error = await refusal({ action: "present" });
    assert.deepEqual([error.code, error.message], ["UNAVAILABLE", "NODE_BACKGROUND_UNAVAILABLE: open the app"]);
    for (payload of [payload, null, {}, { base64: 7 }, { base64: "%%%" }, { base64: "A".repeat(8_000_004) }]) {
      assert.match((await refusal({ action: "snapshot" })).message, /returned no picture/);
    }
  });

  it("a page of the gateway needs the canvas to be on", async (t) => {
    const { refusal, phone } = await open(t, { enabled: false });
    await phone();
    const error = await refusal({ action: "present", page: "index.html" });
    assert.deepEqual([error.code, /canvasHost\.enabled/.test(error.message)], ["UNAVAILABLE", true]);
  });
});
