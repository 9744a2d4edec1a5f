import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLock } from "../../../host/config/lock.ts";

const refuse = (): never => {
  throw new RangeError("held");
};

describe("a lock", () => {
  it("refuses work that requests it within its own turn, also through another lock", async () => {
    const [one, other] = [createLock(refuse), createLock(refuse)];
    await assert.rejects(
      one(() => one(async () => "never")),
      RangeError,
    );
    await assert.rejects(
      one(() => other(() => one(async () => "never"))),
      RangeError,
    );
    assert.equal(await one(() => other(async () => "both")), "both");
  });

  it("refuses what the work of another lock leaves behind, as long as the outer turn lasts", async () => {
    const [one, other] = [createLock(refuse), createLock(refuse)];
    let leave = () => {};
    const left = new Promise<void>((resolve) => (leave = resolve));
    let late: Promise<string> | undefined;
    await one(async () => {
      await other(async () => void (late = left.then(() => one(async () => "never"))));
      leave();
      await assert.rejects(late ?? Promise.resolve(), RangeError);
    });
  });

  it("accepts a request after the turn that it was started in", async () => {
    const lock = createLock(refuse);
    let over = () => {};
    const end = new Promise<void>((resolve) => (over = resolve));
    const late = { request: Promise.resolve("") };
    await lock(async () => void (late.request = end.then(() => lock(async () => "later"))));
    over();
    assert.equal(await late.request, "later");
  });
});
