/** The kit for plugin authors does what it says. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { createFakeClock, startLeakCheck, testGateway } from "@svc/sdk/testing";

describe("the fake clock", () => {
  it("moves only when told, runs what falls due in order, and lets promises go on", async () => {
    const clock = createFakeClock(1_000);
    const seen: string[] = [];
    clock.setTimeout(() => seen.push(`late ${clock.now()}`), 30);
    clock.setInterval(() => seen.push(`tick ${clock.now()}`), 10);
    clock.setTimeout(
      () => void Promise.resolve().then(() => clock.setTimeout(() => seen.push(`nested ${clock.now()}`), 5)),
      10,
    );
    const cancel = clock.setTimeout(() => seen.push("never"), 20);
    cancel();
    await clock.advance(25);
    assert.deepEqual(seen, ["tick 1010", "nested 1015", "tick 1020"]);
    await clock.advance(5);
    assert.deepEqual(seen.slice(3).sort(), ["late 1030", "tick 1030"]);
    assert.deepEqual([clock.now(), clock.elapsed(), clock.pending], [1_030, 30, 1]);
  });
});

describe("the leak check", () => {
  it("names what is left open", async (t) => {
    const leaks = startLeakCheck();
    const server = createServer().listen(0, "127.0.0.1");
    t.after(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    await assert.rejects(leaks.expectNone(50), /left open: 1 TCPServerWrap/);
    server.close();
    await leaks.expectNone();
  });
});

describe("the test gateway", () => {
  it("leaves nothing behind, with the whole bundle", async (t) => {
    const leaks = startLeakCheck();
    await t.test("a gateway", async (inner) => {
      const { gateway, client } = await testGateway(inner);
      assert.deepEqual(
        gateway.plugins().filter(({ state }) => state !== "active"),
        [],
      );
      assert.deepEqual(
        gateway.plugins().flatMap(({ inert }) => inert),
        [],
      );
      assert.ok(client.hello.features.methods.length >= 15);
    });
    await leaks.expectNone();
  });

  it("starts twice on one state directory, one after the other", async (t) => {
    const { stateDir, gateway } = await testGateway(t, { plugins: ["storage-sqlite", "sessions"] });
    await gateway.stop();
    const again = await testGateway(t, { plugins: ["storage-sqlite", "sessions"], stateDir });
    assert.deepEqual(
      again.gateway.plugins().map(({ state }) => state),
      ["active", "active"],
    );
  });

  it("takes a plugin as a value", async (t) => {
    const { gateway } = await testGateway(t, { plugins: [definePlugin({ id: "mine", api: "^1.0.0", setup() {} })] });
    assert.deepEqual(
      gateway.plugins().map(({ id }) => id),
      ["mine"],
    );
  });
});
