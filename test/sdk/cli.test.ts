import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { askText, askYes, withNext } from "@svc/sdk/cli";

/** A terminal at which a person types `typed`; "end" ends the input. */
function terminal(typed: string) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true });
  if (typed === "end") input.end();
  else input.write(typed);
  return { input, output, shown: () => String(output.read()) };
}

describe("a question in a terminal", { timeout: 60_000 }, () => {
  for (const isSecret of [false, true])
    it(`returns the line, ${isSecret ? "without showing it" : "and shows it"}`, async () => {
      const streams = terminal("abc-123 \n");
      assert.equal(await askText("Key: ", streams, isSecret), "abc-123");
      const shown = streams.shown();
      assert.match(shown, /Key: /u);
      assert.equal(shown.includes("abc-123"), !isSecret);
    });

  for (const [why, typed] of [
    ["Ctrl-C", "ab\u0003"],
    ["the end of the input", "end"],
  ] as const)
    for (const isSecret of [false, true])
      it(`returns nothing after ${why}, ${isSecret ? "also for a secret" : "which means no"}`, async () => {
        assert.equal(await askText("Key: ", terminal(typed), isSecret), "");
        assert.equal(await askYes("Write it?", terminal(typed)), false);
      });

  it("means yes for y and yes in any case only", async () => {
    const means = (typed: string) => askYes("Write it?", terminal(`${typed}\n`));
    assert.deepEqual(await Promise.all(["y", "YES", "yess", "", "n"].map(means)), [true, true, false, false, false]);
  });
});

describe("the next step after a refusal", () => {
  for (const [message, expected] of [
    ["it is not there", "it is not there\nNext: svc help"],
    ["it is not there. Next: look again", "it is not there\nNext: look again"],
    ["it is not there; next: look again", "it is not there\nNext: look again"],
    ["run svc doctor first", "run svc doctor first"],
  ] as const)
    it(message, () => {
      const shown = withNext(new GatewayError("NOT_FOUND", message), { plugin: "none", step: "svc help" });
      assert.equal((shown as GatewayError).message, expected); // as it was given
    });
});
