import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandIn, commandReply } from "../../../plugins/chat/commands.ts";
import { cleanMessage, isBlank } from "../../../plugins/chat/input.ts";
import { isStopRequest } from "../../../plugins/chat/stop-phrases.ts";

describe("a message on its way in", () => {
  it("is composed to NFC", () => assert.equal(cleanMessage("e\u0301"), "é"));
  it("keeps tab, LF and CR and loses other control characters", () =>
    assert.equal(cleanMessage("a\tb\r\nc\u0007\u001B[31m\u007F\u0085d"), "a\tb\r\nc[31md"));
  it("is refused with NUL", () => assert.throws(() => cleanMessage("a\0b"), { code: "INVALID_REQUEST" }));
  it("is blank when it only has white space", () =>
    assert.deepEqual([" \n\t", "", "x"].map(isBlank), [true, true, false]));
});

describe("a stop request", () => {
  const yes = ["stop", "STOP", " Stop! ", "/stop", "please stop.", "stop  the   agent", "svc stop", "don’t do that!!"];
  const abroad = ["Стоп", "停止。", "やめて", "arrête !", "Aufhören!", "detén", "توقف", "रुको"];
  for (const text of [...yes, ...abroad]) it(`is "${text}"`, () => assert.equal(isStopRequest(text), true));
  const no = ["stop the presses", "do not stop", "when does it stop?", "/stopp", "", "!"];
  for (const text of no) it(`is not "${text}"`, () => assert.equal(isStopRequest(text), false));
});

describe("a command", () => {
  const rows: [message: string, command: ReturnType<typeof commandIn>][] = [
    ["/new", { kind: "restart", reason: "new", text: "" }],
    ["/NEW  ", { kind: "restart", reason: "new", text: "" }],
    ["/new  hello\nyou ", { kind: "restart", reason: "new", text: "hello\nyou" }],
    ["/reset", { kind: "restart", reason: "reset", text: "" }],
    ["/help", { kind: "help" }],
    ["/help me", undefined],
    ["/newer", undefined],
    ["/think high", undefined],
    ["say /new", undefined],
  ];
  for (const [message, command] of rows) {
    it(`is read from ${JSON.stringify(message)}`, () => assert.deepEqual(commandIn(message), command));
  }
  it("is answered in one line where it does one thing", () => {
    assert.equal(commandReply({ kind: "restart", reason: "new", text: "" }), "New session started.");
    assert.match(commandReply({ kind: "help" }), /\/stop/);
  });
});
