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
    ["/compact keep the names", undefined],
    ["/queue", { kind: "queue", patch: {} }],
    ["/queue Steer+Backlog", { kind: "queue", patch: { queueMode: "steer+backlog" } }],
    [
      "/queue collect debounce:2s cap:5 drop:old",
      { kind: "queue", patch: { queueMode: "collect", queueDebounceMs: 2_000, queueCap: 5, queueDrop: "old" } },
    ],
    ["/queue debounce:0", { kind: "queue", patch: { queueDebounceMs: 0 } }],
    [
      "/queue default",
      {
        kind: "queue",
        patch: { queueMode: undefined, queueDebounceMs: undefined, queueCap: undefined, queueDrop: undefined },
      },
    ],
    ["/newer", undefined],
    ["/think high", undefined],
    ["say /new", undefined],
  ];
  for (const [message, command] of rows) {
    it(`is read from ${JSON.stringify(message)}`, () => assert.deepEqual(commandIn(message), command));
  }
  it("is answered in one line where it does one thing", () => {
    assert.equal(commandReply({ kind: "restart", reason: "new", text: "" }, undefined), "New session started.");
    assert.match(commandReply({ kind: "help" }, undefined), /\/stop/);
  });
  for (const words of ["loud", "cap:0", "cap:2s", "debounce:x", "drop:all", "debounce:", "collect x"]) {
    it(`is refused as "/queue ${words}"`, () =>
      assert.throws(() => commandIn(`/queue ${words}`), { code: "INVALID_REQUEST", message: /modes: collect/ }));
  }
  it("tells how messages wait", () => {
    const entry = {
      sessionId: "s",
      updatedAt: 1,
      queueMode: "steer",
      queueDebounceMs: 5,
      queueCap: 2,
      queueDrop: "new",
    };
    const told = commandReply({ kind: "queue", patch: {} }, entry);
    assert.equal(told, "Queue mode of this session: steer (debounce 5 ms, cap 2, drop new).");
    assert.equal(commandReply({ kind: "queue", patch: {} }, undefined), "Queue mode of this session: as configured.");
  });
});
