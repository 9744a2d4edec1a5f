/** A connect in progress while its device is changed. Spec: spec/README.md "revoking". */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { type Attempt, createDevice, openScene, READ } from "./scene.ts";

const limited = { timeout: 120_000 };

/** A gateway whose next connect can be held, before its device gets its token or before its `hello-ok`. */
async function openHeld(t: TestContext, at: "token" | "hello") {
  let hold: { reached(): void; readonly released: Promise<void> } | undefined;
  const pass = async () => {
    const held = hold;
    hold = undefined;
    held?.reached();
    await held?.released;
  };
  const holder = definePlugin({
    id: "holder",
    api: "^1.0.0",
    setup({ hooks }) {
      if (at === "token") hooks.deviceToken.tap(pass, { phase: "first" });
      else hooks.hello.tap(pass);
    },
  });
  const scene = await openScene(t, { plugins: [holder] });
  /** Runs `change` while `connect` is held there. */
  const during = async <T>(connect: () => Promise<T>, change: () => Promise<unknown>): Promise<T> => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const reached = new Promise<void>((resolve) => (hold = { reached: resolve, released }));
    const connecting = connect();
    await reached;
    await change();
    release();
    return connecting;
  };
  return { scene, during };
}

describe("a connect under way", limited, () => {
  for (const at of ["token", "hello"] as const) {
    for (const end of ["rotate", "revoke"] as const) {
      it(`by a token that is ended before its ${at} (${end}) is refused and gets no other token`, async (t) => {
        const { scene, during } = await openHeld(t, at);
        const device = createDevice();
        const attempt: Attempt = { scopes: [READ] };
        const { deviceToken } = (await scene.pair(device, attempt)).auth;
        const outcome = await during(
          () => scene.byToken(device, deviceToken, attempt),
          () => scene.client.call(devices[end], { deviceId: device.id, role: "operator" }),
        );
        assert.deepEqual([outcome.ok, outcome.details["code"]], [false, "AUTH_UNAUTHORIZED"]);
        const [token] = (await scene.paired(device))?.tokens ?? [];
        assert.equal(token?.revokedAtMs !== undefined, end === "revoke", "nothing was issued meanwhile");
      });
    }

    it(`of a device that is removed before its ${at} is refused and leaves nothing`, async (t) => {
      const { scene, during } = await openHeld(t, at);
      const device = createDevice();
      await scene.pair(device);
      const outcome = await during(
        () => scene.shared(device),
        () => scene.client.call(devices.remove, { deviceId: device.id }),
      );
      assert.equal(outcome.ok, false);
      assert.deepEqual((await scene.list()).paired, []);
    });

    it(`by the shared token goes on when the device's token is revoked before its ${at}`, async (t) => {
      const { scene, during } = await openHeld(t, at);
      const device = createDevice();
      const { deviceToken } = (await scene.pair(device)).auth;
      const outcome = await during(
        () => scene.shared(device),
        () => scene.client.call(devices.revoke, { deviceId: device.id, role: "operator" }),
      );
      assert.ok(outcome.ok);
      assert.equal((await scene.byToken(device, deviceToken)).ok, false);
    });
  }
});
