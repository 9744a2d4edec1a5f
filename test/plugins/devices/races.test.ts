/** A connect in progress while its device is changed. Spec: spec/README.md "revoking". */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { type Attempt, createDevice, type KeptDevice, openScene, READ } from "./scene.ts";

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
    it(`is refused before its ${at} when its token or device ends; by the shared token it goes on when the device's token is revoked`, async (t) => {
      const { scene, during } = await openHeld(t, at);
      const attempt: Attempt = { scopes: [READ] };
      const paired = async () => {
        const device = createDevice();
        return { device, deviceToken: (await scene.pair(device, attempt)).auth.deviceToken };
      };
      const ended = (end: "rotate" | "revoke", device: KeptDevice) =>
        scene.client.call(devices[end], { deviceId: device.id, role: "operator" });
      for (const end of ["rotate", "revoke"] as const) {
        const { device, deviceToken } = await paired();
        const connect = () => scene.byToken(device, deviceToken, attempt);
        const outcome = await during(connect, () => ended(end, device));
        assert.deepEqual([outcome.ok, outcome.details["code"]], [false, "AUTH_UNAUTHORIZED"], end);
        const [token] = (await scene.paired(device))?.tokens ?? [];
        assert.equal(token?.revokedAtMs !== undefined, end === "revoke", "nothing was issued meanwhile");
      }

      const { device: removed } = await paired();
      const remove = () => scene.client.call(devices.remove, { deviceId: removed.id });
      assert.equal((await during(() => scene.shared(removed), remove)).ok, false);
      assert.equal(await scene.paired(removed), undefined);

      const { device, deviceToken } = await paired();
      const revoke = () => ended("revoke", device);
      assert.ok((await during(() => scene.shared(device), revoke)).ok);
      assert.equal((await scene.byToken(device, deviceToken)).ok, false);
    });
  }
});
