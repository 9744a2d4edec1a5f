/** The gate for devices is separate: whichever plugin guards it, and however it fails, connections without a device are not affected. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Admission, definePlugin, type Plugin } from "@svc/sdk";
import { deviceConnect } from "../../device.ts";
import { connectFrame, openRaw } from "../../raw-socket.ts";
import { startHost } from "./host-scene.ts";

const limited = { timeout: 120_000 };

async function attempts(t: TestContext, plugins: readonly Plugin[], config: object = {}) {
  const { url, auth } = await startHost(t, { plugins, config });
  async function outcome(frame: (socket: Awaited<ReturnType<typeof openRaw>>) => Record<string, unknown>) {
    const socket = await openRaw(url);
    socket.send(frame(socket));
    const { ok, error } = await socket.next(({ id }) => id === "c1");
    socket.ws.close();
    return ok === true ? "ok" : String(error?.message);
  }
  return {
    withDevice: () => outcome((socket) => deviceConnect(socket, { token: auth.token })),
    without: () => outcome(() => connectFrame(auth.token)),
  };
}

const guard = (setup: Plugin["setup"]) => definePlugin({ id: "guard", api: "^1.0.0", setup });

describe("the gate for devices", limited, () => {
  it("runs for connections with a verified device, after the gate for all connections, unless that one refused", async (t) => {
    const seen: string[] = [];
    let banned = false;
    const note = (gate: string) => (admission: Admission) => {
      seen.push(`${gate} ${typeof admission.device}`);
      return banned ? ({ allow: false, reason: "banned" } as const) : undefined;
    };
    const { withDevice, without } = await attempts(t, [
      guard((gateway) => {
        gateway.hooks.admitDevice.tap(note("device"));
        gateway.hooks.admit.tap(note("all"));
      }),
    ]);
    assert.deepEqual([await withDevice(), await without()], ["ok", "ok"]);
    assert.deepEqual(seen, ["all string", "device string", "all undefined"]);
    banned = true;
    seen.length = 0;
    assert.deepEqual([await withDevice(), seen], ["banned", ["all string"]]);
  });

  const failing: [how: string, setup: Plugin["setup"], says: RegExp][] = [
    [
      "denies",
      (gateway) => gateway.hooks.admitDevice.tap(() => ({ allow: false, reason: "no device" })),
      /^no device$/,
    ],
    [
      "throws",
      (gateway) =>
        gateway.hooks.admitDevice.tap(() => {
          throw new Error("broken");
        }),
      /^plugin guard could not decide$/,
    ],
    [
      "is missing, since it did not start",
      (gateway) => {
        gateway.hooks.admitDevice.tap(() => undefined);
        gateway.start(() => {
          throw new Error("no storage");
        });
      },
      /^plugin guard is not running$/,
    ],
  ];
  for (const [how, setup, says] of failing)
    it(`stays closed for devices when its plugin ${how}; clients without a device are admitted`, async (t) => {
      const { withDevice, without } = await attempts(t, [guard(setup)]);
      assert.match(await withDevice(), says);
      assert.equal(await without(), "ok");
    });
});
