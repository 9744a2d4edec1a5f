/**
 * The same table for the command line: with the token of a device, `svc` may do exactly what the device may; an explicitly
 * named secret is used instead of any other. The calls run in this process; a few run as processes.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { keepDevice, keepDeviceToken } from "@svc/sdk/device";
import { testGateway } from "@svc/sdk/testing";
import { connectTo } from "../../host/cli/connect.ts";
import { resolveTarget } from "../../host/cli/target.ts";
import { directoryOf } from "../host/kernel/reload-scene.ts";
import { sharedScene } from "../host/net/host-scene.ts";
import { svc } from "../run-svc.ts";
import { expected, SETS, verdict } from "./authority-table.ts";
import { methods } from "./samples.ts";

const limited = { timeout: 120_000 };

/** A machine that joined the gateway with these scopes. @returns its state directory */
async function joined(t: TestContext, { url, token }: { url: string; token: string }, scopes: readonly string[]) {
  const stateDir = await directoryOf(t, "svc-machine-");
  const identity = join(stateDir, "identity");
  const client = await connect({ url, token, device: keepDevice(identity), scopes });
  const { auth } = client.hello;
  await client.close();
  assert.ok(auth?.deviceToken, "the device got a token");
  keepDeviceToken(identity, url, "operator", { token: auth.deviceToken, scopes: auth.scopes, updatedAtMs: 1 });
  return stateDir;
}

describe("the method x scope matrix of the command line", limited, () => {
  const scene = sharedScene((t) => testGateway(t));

  for (const held of SETS) {
    it(`with the token of a device for [${held.join()}]`, async (t) => {
      const { gateway } = scene();
      const place = { url: gateway.url, token: String(gateway.auth.token) };
      const SVC_STATE_DIR = await joined(t, place, held);
      const client = await connectTo(await resolveTarget({ url: gateway.url }, { SVC_STATE_DIR }));
      t.after(() => client.close());
      await tryAll(client, held);
    });
  }

  it("with the key of the gateway's state directory, as an admin", async (t) => {
    const { gateway, stateDir } = scene();
    const target = await resolveTarget({ url: gateway.url }, { SVC_STATE_DIR: stateDir });
    const { token: _, ...withoutToken } = target;
    const client = await connectTo(withoutToken);
    t.after(() => client.close());
    await tryAll(client, ["operator.admin"]);
  });
});

async function tryAll(client: GatewayClient, held: readonly string[]): Promise<void> {
  for (const name of Object.keys(methods)) {
    const outcome = await client.request(name, []).then(() => "past the scope", verdict);
    assert.equal(outcome, expected(name, held), name);
  }
}

describe("svc gateway call", limited, () => {
  it("in a process may do exactly what its token allows", async (t) => {
    const { gateway } = await testGateway(t);
    const place = { url: gateway.url, token: String(gateway.auth.token) };
    const elsewhere = await directoryOf(t, "svc-elsewhere-");
    const reader = await joined(t, place, ["operator.read"]);
    const rows: [method: string, stateDir: string, env: Record<string, string>, code: number, told: RegExp][] = [
      ["node.list", elsewhere, { SVC_GATEWAY_TOKEN: place.token }, 0, /"nodes": \[\]/],
      ["secrets.list", elsewhere, { SVC_GATEWAY_TOKEN: place.token }, 0, /"secrets": \[\]/],
      ["node.event", elsewhere, { SVC_GATEWAY_TOKEN: place.token }, 1, /unauthorized role: operator/],
      ["health", elsewhere, { SVC_GATEWAY_TOKEN: "wrong" }, 1, /unauthorized/],
      ["health", elsewhere, {}, 1, /NOT_PAIRED|device identity|unauthorized/],
      ["node.list", reader, {}, 0, /"nodes": \[\]/],
      ["device.pair.list", reader, {}, 1, /missing scope: operator\.pairing/],
      // A named token is used even if another credential would succeed.
      ["node.list", reader, { SVC_GATEWAY_TOKEN: "wrong" }, 1, /unauthorized/],
    ];
    for (const [method, stateDir, env, code, told] of rows) {
      const ended = await svc(stateDir, ["gateway", "call", method, "--url", gateway.url], env);
      const where = `${method} with ${JSON.stringify(Object.keys(env))}: ${ended.text}`;
      assert.equal(ended.code === 0 ? 0 : 1, code, where);
      assert.match(ended.text, told, where);
      if (code !== 0) assert.match(ended.text, /^Next: |^ {0,2}Next/m, where);
    }
  });
});
