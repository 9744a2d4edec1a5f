import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cleanMessage, isBlank } from "../../../plugins/chat/input.ts";

describe("an incoming message", () => {
  it("is normalised to NFC", () => assert.equal(cleanMessage("e\u0301"), "é"));
  it("keeps tab, LF and CR and loses other control characters", () =>
    assert.equal(cleanMessage("a\tb\r\nc\u0007\u001B[31m\u007F\u0085d"), "a\tb\r\nc[31md"));
  it("is refused with NUL", () => assert.throws(() => cleanMessage("a\0b"), { code: "INVALID_REQUEST" }));
  it("is blank when it only has white space", () =>
    assert.deepEqual([" \n\t", "", "x"].map(isBlank), [true, true, false]));
});
