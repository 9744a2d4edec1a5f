/** Old frames, foreign nonces and proofs for other params; and false claims: local, not a page, another machine. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ConnectParams } from "@svc/sdk/protocol";
import { openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";
import {
  ADMIN,
  type Attempt,
  createDevice,
  type KeptDevice,
  openScene,
  READ,
  reasonOf,
  type Scene,
  SECRET,
} from "../../plugins/devices/scene.ts";
import { assertExplained, assertWithin, powers, probePlugin } from "./scene.ts";

const limited = { timeout: 120_000 };
const nonceOf = ({ frames }: RawSocket) => String(frames.find(({ event }) => event)?.payload?.["nonce"]);

interface Claims {
  readonly clientId?: string;
  readonly mode?: string;
  readonly role?: string;
  readonly scopes?: readonly string[];
  readonly token?: string;
  readonly platform?: string;
  readonly deviceFamily?: string;
  readonly signedAt?: number;
  readonly nonce?: string;
}

/** A connect that sends `sent` and proves `signed`. */
function connect(device: KeptDevice, nonce: string, sent: Claims, signed: Claims = sent): object {
  const usual = { clientId: "cli", mode: "cli", role: "operator", scopes: [READ], platform: "linux", token: SECRET };
  const signedNow = Date.now(); // one reading: what is sent and what is signed must not differ by a millisecond
  const full = (claims: Claims) => ({ ...usual, signedAt: signedNow, nonce, ...claims });
  const [say, prove] = [full(sent), full(signed)];
  const { clientId, mode, role, scopes, signedAt, token, nonce: own } = prove;
  const parts = [clientId, mode, role, scopes.join(","), signedAt, token, own];
  const text = ["v3", device.id, ...parts, prove.platform, prove.deviceFamily ?? ""].join("|");
  const client = { id: say.clientId, version: "1", platform: say.platform, mode: say.mode };
  const { id, publicKey } = device;
  const params = {
    minProtocol: 3,
    maxProtocol: 3,
    client: say.deviceFamily === undefined ? client : { ...client, deviceFamily: say.deviceFamily },
    role: say.role,
    scopes: [...say.scopes],
    auth: { token: say.token },
    device: { id, publicKey, signature: device.sign(text), signedAt: say.signedAt, nonce: say.nonce },
  } as ConnectParams; // deliberately includes values that no client sends
  return { type: "req", id: "c1", method: "connect", params };
}

async function sendOn(t: TestContext, { url }: Scene, make: (nonce: string) => unknown) {
  const socket = await openRaw(url);
  t.after(() => socket.ws.terminate());
  socket.send(make(nonceOf(socket)));
  const answer: RawFrame | undefined = await socket.next(({ id }) => id === "c1").catch(() => undefined);
  return { socket, answer, code: answer?.error?.details?.["code"] };
}

describe("a proof", limited, () => {
  it("is valid only on its own connection: no replay, no nonce of another, no old one", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    let recorded: unknown;
    const first = await sendOn(t, scene, (nonce) => (recorded = connect(device, nonce, { scopes: [ADMIN] })));
    assert.equal(first.answer?.ok, true);
    const open = await openRaw(scene.url);
    t.after(() => open.ws.terminate());
    const attempts: ((nonce: string) => unknown)[] = [
      () => recorded,
      () => connect(device, nonceOf(first.socket), {}),
      () => connect(device, nonceOf(open), {}),
      (nonce) => connect(device, nonce.toUpperCase(), {}),
      (nonce) => connect(device, `${nonce}0`, {}),
      (nonce) => connect(device, nonce, {}, { nonce: nonceOf(open) }),
    ];
    for (const [index, make] of attempts.entries()) {
      const { answer, code } = await sendOn(t, scene, make);
      assert.equal(answer?.ok, false, `attempt ${index}`);
      assert.match(String(code), /^DEVICE_AUTH_(NONCE_MISMATCH|SIGNATURE_INVALID)$/);
    }
    first.socket.send(recorded);
    const again = await first.socket.next(({ id, ok }) => id === "c1" && ok === false);
    assert.match(String(again.error?.message), /first request/, "nor a second time on the same one");
  });

  it("covers the sent values: role, scopes, secret, client, platform, time", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    const differences: readonly (readonly [sent: Claims, signed: Claims])[] = [
      [{ scopes: [ADMIN] }, { scopes: [READ] }],
      [{ scopes: [READ, ADMIN] }, { scopes: [READ] }],
      [{ scopes: [] }, { scopes: [READ] }],
      [
        { role: "node", scopes: [] },
        { role: "operator", scopes: [] },
      ],
      [{ token: SECRET }, { token: deviceToken }],
      [{ token: deviceToken }, { token: SECRET }],
      [{ token: SECRET }, { token: "" }],
      [{ clientId: "gateway-client", mode: "backend" }, {}],
      [{ mode: "backend" }, {}],
      [{ platform: "ios" }, { platform: "linux" }],
      [{ deviceFamily: "iPhone" }, {}],
      [{ signedAt: Date.now() }, { signedAt: Date.now() - 1_000 }],
    ];
    for (const [sent, signed] of differences) {
      const { code } = await sendOn(t, scene, (nonce) => connect(device, nonce, sent, signed));
      assert.equal(code, "DEVICE_AUTH_SIGNATURE_INVALID", JSON.stringify([sent, signed]));
    }
    for (const skew of [-121_000, 121_000, -1e15, Number.MAX_SAFE_INTEGER]) {
      const signedAt = skew === Number.MAX_SAFE_INTEGER ? skew : Date.now() + skew;
      const { answer } = await sendOn(t, scene, (nonce) => connect(device, nonce, { signedAt }));
      assert.equal(answer?.ok ?? false, false, `skew ${skew}`);
    }
    // A list that joins to the same text still means one unknown scope.
    const joined = await sendOn(t, scene, (nonce) =>
      connect(device, nonce, { scopes: [`${READ},${ADMIN}`] }, { scopes: [READ, ADMIN] }),
    );
    if (joined.answer?.ok === true) assert.deepEqual(await powers(joined.socket), []);
  });
});

describe("false claims of a client", limited, () => {
  const proxied = [
    { "x-forwarded-for": "127.0.0.1" },
    { "x-forwarded-for": "" },
    { "x-real-ip": "127.0.0.1" },
    { "x-forwarded-host": "localhost" },
    { forwarded: "for=127.0.0.1" },
    { host: "gateway.example" },
    { host: "localhost.example" },
    { host: "127.0.0.1.example" },
  ];

  it("do not make a device local, so none is paired silently", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    for (const headers of proxied) {
      for (const client of [{}, { id: "gateway-client", mode: "backend" } as const]) {
        const outcome = await scene.shared(createDevice(), { scopes: [ADMIN], headers, client });
        assert.equal(reasonOf(outcome), "not-paired", JSON.stringify(headers));
        assertExplained(outcome, JSON.stringify(headers));
      }
    }
    assert.deepEqual((await scene.list()).paired, []);
  });

  it("a page is not a program on this machine, with any origin", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    for (const origin of ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1", "file://"]) {
      for (const client of [{}, { id: "gateway-client", mode: "backend" } as const]) {
        const outcome = await scene.shared(createDevice(), { scopes: [ADMIN], headers: { origin }, client });
        await assertWithin(outcome, [], origin);
        assert.equal(outcome.ok, false, origin);
      }
    }
    assert.deepEqual((await scene.list()).paired, []);
  });

  it("another platform or family is never approved silently, for tokens and secrets, local and remote", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    const client = { platform: "darwin", deviceFamily: "Mac" };
    const { deviceToken } = (await scene.pair(device, { scopes: [READ], client })).auth;
    const others: Attempt["client"][] = [
      { platform: "ios", deviceFamily: "Mac" },
      { platform: "darwin", deviceFamily: "iPhone" },
      { platform: "darwin" },
      { platform: " ", deviceFamily: "Mac" },
      { platform: "d\u0430rwin", deviceFamily: "Mac" },
    ];
    for (const other of others) {
      for (const auth of [{ token: SECRET }, { token: deviceToken }]) {
        for (const far of [false, true]) {
          const outcome = await scene.knock({ device, scopes: [READ], auth, far, client: other ?? {} });
          assert.equal(reasonOf(outcome), "metadata-upgrade", JSON.stringify(other));
          assertExplained(outcome, JSON.stringify(other));
        }
      }
    }
    for (const same of [{ platform: " DARWIN ", deviceFamily: "mac" }, client])
      assert.ok((await scene.byToken(device, deviceToken, { scopes: [READ], client: same })).ok);
    const { platform } = (await scene.paired(device)) ?? assert.fail();
    assert.equal(platform, "darwin", "what was approved stays");
  });
});
