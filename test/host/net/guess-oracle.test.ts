/** Anyone can create a device, which must not allow unlimited guesses of the shared secret. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { deviceConnect } from "../../device.ts";
import { openRaw } from "../../raw-socket.ts";

const limited = { auth: { token: "right", rateLimit: { exemptLoopback: false, maxAttempts: 5 } } };

async function guess(url: string, token: string): Promise<string> {
  const socket = await openRaw(url);
  socket.send(deviceConnect(socket, { token }));
  const { ok, error } = await socket.next(({ id }) => id === "c1");
  socket.ws.close();
  return ok ? "in" : String(error?.details?.["code"]);
}

describe("guesses together with a device proof", { timeout: 120_000 }, () => {
  it("are counted, and the right secret is refused after too many", async (t) => {
    const { gateway } = await testGateway(t, { plugins: ["health"], config: { gateway: limited } });
    for (let attempt = 0; attempt < 5; attempt++)
      assert.equal(await guess(gateway.url, "wrong"), "AUTH_TOKEN_MISMATCH");
    assert.equal(await guess(gateway.url, "wrong"), "AUTH_RATE_LIMITED");
    assert.equal(await guess(gateway.url, "right"), "AUTH_RATE_LIMITED");
  });

  it("that a plugin vouches for do not count as failures, with or without a device", async (t) => {
    const voucher = definePlugin({
      id: "voucher",
      api: "^1.0.0",
      setup: (gateway) => gateway.hooks.authenticate.tap(() => ({ id: "device:x", scopes: ["operator.read"] })),
    });
    const { gateway, connect } = await testGateway(t, { plugins: ["health", voucher], config: { gateway: limited } });
    for (let attempt = 0; attempt < 12; attempt++) {
      assert.equal(await guess(gateway.url, "somebody"), "in");
      await (await connect({ token: "somebody" })).close();
    }
  });
});
