/** Existing clients become devices, reconnect by their own rules, and get access again after everything that ends a token. Spec: protocol/clients.md. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDevice, openScene, type Scene, SECRET } from "../../plugins/devices/scene.ts";
import type { RawFrame } from "../../raw-socket.ts";
import { BACKEND, type Kind, KINDS, RecordedClient } from "./recorded-clients.ts";

const limited = { timeout: 120_000 };

async function open(
  t: TestContext,
  kind: Kind,
  localApproval: string,
): Promise<{ scene: Scene; client: RecordedClient }> {
  const scene = await openScene(t, {
    plugins: ["health", "nodes", "approvals"],
    config: { devices: { localApproval }, gateway: { auth: { token: SECRET }, aliases: ["acme"] } },
  });
  const client = new RecordedClient(kind, createDevice(), SECRET);
  t.after(() => client.socket?.ws.terminate());
  return { scene, client };
}

const isIn = (frame: RawFrame) => assert.equal(frame.ok, true, JSON.stringify(frame.error));

/** @returns the id of the request */
function mustWait({ error }: RawFrame, reason: string): string {
  assert.equal(error?.code, "NOT_PAIRED");
  assert.match(error.message, /pairing required/);
  const { code, requestId, reason: why } = error.details ?? {};
  assert.deepEqual([code, why], ["PAIRING_REQUIRED", reason]);
  return String(requestId);
}

const ended = ({ code, reason }: { code: number; reason: string }) => {
  assert.equal(code, 1008);
  assert.match(reason, /device token mismatch/);
};

for (const kind of KINDS) {
  describe(kind.name, limited, () => {
    it("is paired silently on this machine, reconnects with its token alone, and gets another one after it was revoked or rotated", async (t) => {
      const { scene, client } = await open(t, kind, "silent");
      isIn(await client.connect(scene.url));
      await client.work();
      const token = client.stored;
      assert.ok(token);
      client.shared = undefined;
      isIn(await client.connect(scene.url));
      await client.work();
      assert.equal(client.stored, token);
      const { platform, clientId, role } = (await scene.paired(client.device)) ?? assert.fail();
      assert.deepEqual([platform, role], [kind.client.platform, kind.role]);
      assert.equal(clientId, kind.client.id.replace("acme-", "svc-"), "one name for what an alias names");

      for (const method of ["device.token.revoke", "device.token.rotate"]) {
        const before = client.stored;
        await scene.client.request(method, { deviceId: client.device.id, role: kind.role });
        ended(await client.closed());
        const refused = await client.connect(scene.url); // the panel still has it, the others send nothing
        assert.equal(refused.ok, false);
        assert.equal(client.stored, undefined, "it dropped what is dead");
        client.shared = SECRET;
        isIn(await client.connect(scene.url));
        await client.work();
        assert.ok(client.stored);
        assert.notEqual(client.stored, before);
        client.shared = undefined;
        isIn(await client.connect(scene.url));
      }
    });

    it("waits when every device needs approval, gets its token at its next connect, and is paired again after a removal", async (t) => {
      const { scene, client } = await open(t, kind, "ask");
      const requestId = mustWait(await client.connect(scene.url), "not-paired");
      const again = mustWait(await client.connect(scene.url), "not-paired");
      assert.equal(again, requestId, "a client that tries again asks for the same");
      assert.equal(client.stored, undefined);
      await scene.client.request("device.pair.approve", { requestId });
      isIn(await client.connect(scene.url));
      await client.work();
      assert.ok(client.stored);

      await scene.client.request("device.pair.remove", { deviceId: client.device.id });
      assert.equal((await client.closed()).code, 1008);
      client.shared = undefined;
      const refused = await client.connect(scene.url);
      assert.equal(refused.ok, false);
      assert.equal(client.stored, undefined, `it keeps a dead token: ${refused.error?.message}`);
      client.shared = SECRET;
      const next = mustWait(await client.connect(scene.url), "not-paired");
      await scene.client.request("device.pair.approve", { requestId: next });
      isIn(await client.connect(scene.url));
      await client.work();
    });

    it("with the token of a gateway whose secret changed gets an error it recognizes", async (t) => {
      const { scene, client } = await open(t, kind, "silent");
      client.shared = "the secret of last week";
      const { error } = await client.connect(scene.url);
      assert.equal(error?.code, "INVALID_REQUEST");
      assert.match(error.message, /^unauthorized: gateway token mismatch/);
      assert.deepEqual(error.details?.["code"], "AUTH_TOKEN_MISMATCH");
      const { code, reason } = await client.closed();
      assert.equal(code, 1008);
      assert.ok(error.message.startsWith(reason) || reason.startsWith("unauthorized"), reason);
    });
  });
}

describe("the backend of the process", limited, () => {
  it("is admitted by the secret without a pairing, and leaves no record", async (t) => {
    const { scene, client } = await open(t, BACKEND, "ask");
    isIn(await client.connect(scene.url));
    await client.work();
    assert.equal(client.stored, undefined, "nothing to keep");
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
  });

  it("is an ordinary device if remote, from a page, or without the secret", async (t) => {
    const { scene, client } = await open(t, BACKEND, "ask");
    mustWait(await client.connect(scene.url, { host: "gateway.example" }), "not-paired");
    const page = await client.connect(scene.url, { origin: "http://localhost:5173" });
    assert.equal(page.ok, false);
    client.shared = undefined;
    assert.equal((await client.connect(scene.url)).ok, false);
  });
});

describe("a control UI", limited, () => {
  it("of a foreign origin is refused, with any token", async (t) => {
    for (const id of ["svc-control-ui", "acme-control-ui"]) {
      const kind = KINDS.find(({ client }) => client.id === id) ?? assert.fail();
      const { scene, client } = await open(t, kind, "silent");
      isIn(await client.connect(scene.url));
      for (const origin of ["https://evil.example", "null", "http://localhost.evil.example"]) {
        const { error } = await client.connect(scene.url, { origin });
        assert.match(String(error?.message), /^origin not allowed/);
      }
    }
  });
});
