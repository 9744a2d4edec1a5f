import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatCommand } from "@svc/sdk/commands";
import { commandIn } from "../../../plugins/commands/parse.ts";
import { openCommands } from "./commands-scene.ts";

type Row = [message: string, written: ReturnType<typeof commandIn>];

describe("a command in a message", () => {
  const STOP = { name: "stop", text: "" };
  const rows: Row[] = [
    ["/new", { name: "new", text: "" }],
    ["/NEW  ", { name: "new", text: "" }],
    ["/new  hello\nyou ", { name: "new", text: "hello\nyou" }],
    ["/new\nhello", { name: "new", text: "hello" }],
    [" /Compact keep the names ", { name: "compact", text: "keep the names" }],
    ["/status@my_bot", { name: "status", text: "" }],
    ["/think@bot high", { name: "think", text: "high" }],
    ["/steer-now 2", { name: "steer-now", text: "2" }],
    ["/newer", { name: "newer", text: "" }],
    [`/${"a".repeat(32)}`, { name: "a".repeat(32), text: "" }],
    ["/stop", STOP],
    ["please stop", STOP],
    ["停止。", STOP],
    ["/stop@bot", STOP],
    ["//new hello", { name: "", text: "/new hello" }],
    [" //Stop", { name: "", text: "/Stop" }],
    ["/stop the presses", undefined],
    ["say /new", undefined],
    ["/etc/hosts is wrong", undefined],
    ["/ what", undefined],
    ["/", undefined],
    ["/1st try", undefined],
    ["/new: hello", undefined],
    [`/${"a".repeat(33)}`, undefined],
    ["// a comment", undefined],
    ["//example.org/x", undefined],
    ["///new", undefined],
    ["", undefined],
  ];
  for (const [message, written] of rows)
    it(`is read from ${JSON.stringify(message)}`, () => assert.deepEqual(commandIn(message), written));

  it("is read in linear time", () => {
    const before = performance.now();
    commandIn(`/a${" ".repeat(100_000)}x`);
    commandIn(`${"\n".repeat(100_000)}x`);
    assert.ok(performance.now() - before < 200);
  });
});

describe("the name of a command", () => {
  const named = (reply: string, more: Partial<ChatCommand> = {}): ChatCommand => ({
    summary: reply,
    run: async () => ({ reply }),
    ...more,
  });
  const others = {
    "turn-on": named("on", { urgent: true }),
    one: named("one", { aliases: ["uno", "help"] }),
    "Not A Name": named("never"),
  };

  const rows: [text: string, name: string, urgent: boolean][] = [
    ["/turn-on", "turn-on", true],
    ["/turn_on", "turn-on", true],
    ["/uno", "one", false],
    ["/commands", "help", false],
    ["/help", "help", false],
    ["/stop", "stop", true],
    ["/nope", "nope", false],
    ["//new", "", false],
  ];
  for (const [text, name, urgent] of rows)
    it(`of ${text} is ${JSON.stringify(name)}`, () => {
      const parsed = openCommands({}, others).commands.parse(text);
      assert.deepEqual([parsed?.name, parsed?.urgent], [name, urgent]);
    });

  it("can be listed, unless it is not a name", () => {
    const names = openCommands({}, others)
      .commands.list()
      .map(({ name }) => name);
    assert.deepEqual(names, names.toSorted());
    assert.equal(names.includes("Not A Name"), false);
    assert.ok(["help", "one", "turn-on"].every((name) => names.includes(name)));
  });
});
