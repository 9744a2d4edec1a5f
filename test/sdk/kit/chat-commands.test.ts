import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStopRequest } from "@svc/kit/chat-commands";

describe("a stop request", () => {
  const yes = ["stop", "STOP", " Stop! ", "/stop", "please stop.", "stop  the   agent", "svc stop", "don’t do that!!"];
  const abroad = ["Стоп", "停止。", "やめて", "arrête !", "Aufhören!", "detén", "توقف", "रुको"];
  for (const text of [...yes, ...abroad]) it(`is "${text}"`, () => assert.equal(isStopRequest(text), true));
  const no = ["stop the presses", "do not stop", "when does it stop?", "/stopp", "", "!"];
  for (const text of no) it(`is not "${text}"`, () => assert.equal(isStopRequest(text), false));
  it("is found in linear time", () => {
    const before = performance.now();
    assert.equal(isStopRequest(`stop${" ".repeat(100_000)}x`), false);
    assert.ok(performance.now() - before < 200);
  });
});
