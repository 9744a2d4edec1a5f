import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Message, ToolSpec } from "@svc/sdk/models";
import { HOW_TO_CONNECT, respond } from "../../../plugins/provider-offline/responder.ts";

const tool = (name: string, description = ""): ToolSpec => ({ name, description, parameters: { type: "object" } });
const status = tool("session_status", "State of this session");
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const result = (text: string, isError = false): Message => ({
  role: "toolResult",
  toolCallId: "c",
  toolName: "session_status",
  content: text === "" ? [] : [{ type: "text", text }],
  isError,
  timestamp: 2,
});
const say = (text: string, tools: ToolSpec[] = [status]) => respond({ messages: [user(text)], tools });

describe("offline responder", () => {
  const texts: [said: string, tools: ToolSpec[], answer: RegExp][] = [
    ["hello", [], /not a language model[^]*svc models add/u],
    ["", [], /not a language model/u],
    ["help", [status], /`echo <text>`[^]*`session_status`[^]*svc models add/u],
    ["Help!", [], /No tools are offered/u],
    ["echo  two  words ", [], /^two {2}words$/u],
    ["echo", [], /Nothing to repeat/u],
    ["status", [], /not offered the tool/u],
    ["time", [status], /no tool for the time/u],
    ["/tool", [status], /Write `\/tool <name> <json>`/u],
    ["/tool nothing {}", [status], /no tool `nothing`\. Tools: `session_status`/u],
    ["/tool session_status {a", [status], /must be a JSON object/u],
    ["/tool session_status [1]", [status], /must be a JSON object/u],
  ];
  for (const [said, tools, answer] of texts) {
    it(`answers "${said}" with ${tools.length} tools without calling one`, () => {
      const plan = say(said, tools);
      assert.match(plan.text, answer);
      assert.equal(plan.toolCall, undefined);
    });
  }

  const calls: [said: string, tools: ToolSpec[], name: string, args: object][] = [
    ["status", [status], "session_status", {}],
    ["Status?", [status], "session_status", {}],
    ["what time is it?", [status, tool("clock")], "clock", {}],
    ["time", [tool("a"), tool("b", "Tells the current time")], "b", {}],
    ["/tool session_status", [status], "session_status", {}],
    ['/tool session_status {"a": [1]}', [status], "session_status", { a: [1] }],
    ['/tool session_status\n{"a": 1}', [status], "session_status", { a: 1 }],
  ];
  for (const [said, tools, name, args] of calls) {
    it(`answers ${JSON.stringify(said)} by calling ${name}`, () => {
      assert.deepEqual(say(said, tools), { text: "", toolCall: { name, arguments: args } });
    });
  }

  const reports: [why: string, messages: Message[], text: string][] = [
    ["a result", [result("fine")], "The tool `session_status` returned: fine"],
    ["a failure", [result("no", true)], "The tool `session_status` failed: no"],
    ["an empty result", [result("")], "The tool `session_status` returned without any text."],
    [
      "two results",
      [result("a"), result("b")],
      "The tool `session_status` returned: a\nThe tool `session_status` returned: b",
    ],
  ];
  for (const [why, messages, text] of reports) {
    it(`reports ${why}`, () => {
      assert.deepEqual(respond({ messages: [user("status"), ...messages], tools: [status] }), { text });
    });
  }

  it("answers a conversation without messages", () => {
    assert.match(respond({ messages: [], tools: [] }).text, /not a language model/u);
  });

  it("answers the newest message, not an old result", () => {
    assert.equal(respond({ messages: [user("status"), result("fine"), user("echo hi")], tools: [] }).text, "hi");
  });

  it("says that it cannot look at images", () => {
    const content = [{ type: "image", data: "QUJD", mimeType: "image/png" }] as const;
    const plan = respond({ messages: [{ role: "user", content, timestamp: 1 }], tools: [] });
    assert.match(plan.text, /cannot look at images/u);
  });

  it("names the command that connects a model, with the key in an environment variable", () => {
    assert.match(HOW_TO_CONNECT, /svc models add https:\S+ --key-env ACME_API_KEY\n/u);
  });
});
