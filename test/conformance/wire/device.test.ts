/** Device proofs and what a device may do, on the wire. Spec: protocol/frames-and-connect.md §6, §7 "Device-token fallback", §10. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConnectParams } from "@svc/sdk/protocol";
import { connectFrame, facts } from "../../raw-socket.ts";
import { KEY, outcomeOf, type ProofOptions, type Scene, shared, withProof } from "./scene.ts";

const limited = { timeout: 120_000 };

async function prove(scene: Scene, params: Partial<ConnectParams> = {}, options: ProofOptions = {}) {
  const socket = await scene.open();
  const auth = params.auth ?? { token: String(scene.token) };
  socket.send(connectFrame(undefined, withProof(socket, { ...params, auth }, options)));
  return outcomeOf(socket);
}

describe("a device proof [W4.24 W4.27 W6.6 W6.7 H8.4]", limited, () => {
  const scene = shared();
  const pem = String(KEY.publicKey.export({ format: "pem", type: "spki" }));
  const MAC = { signed: { platform: "mac" } };
  const accepted: [why: string, params: Partial<ConnectParams>, options: ProofOptions][] = [
    ["version 3", {}, {}],
    ["version 2", {}, { version: "v2" }],
    ["scopes in the requested order [W6.9]", { scopes: ["operator.write", "operator.read"] }, {}],
    ["no scopes", { scopes: [] }, {}],
    ["a public key in padded base64 [W6.1]", {}, { sent: { publicKey: KEY.raw.toString("base64") } }],
    ["a public key as PEM [W6.1]", {}, { sent: { publicKey: pem } }],
    ["a platform in capitals, which is lower-cased [W6.10]", { client: client({ platform: "Darwin" }) }, {}],
    ["a platform with blanks, which are trimmed [W6.10]", { client: client({ platform: " mac " }) }, MAC],
    ["a device family [W6.10]", { client: client({ deviceFamily: "Mac" }) }, { signed: { family: "mac" } }],
    ["a signature of 100 s ago [W6.4]", {}, { skewMs: -100_000 }],
    ["a signature 119 s ahead", {}, { skewMs: 119_000 }],
  ];
  for (const [why, params, options] of accepted)
    it(`is accepted with ${why}`, async () => assert.equal((await prove(scene(), params, options)).told, "ok"));

  it("is accepted with a nonce that has blanks around it [W6.5]", async () => {
    const socket = await scene().open();
    const nonce = ` ${String(socket.frames[0]?.payload?.["nonce"])} `;
    const auth = { token: String(scene().token) };
    socket.send(connectFrame(undefined, withProof(socket, { auth }, { sent: { nonce } })));
    assert.equal((await outcomeOf(socket)).told, "ok");
  });

  type Refusal = readonly [message: string, code: string, reason: string];
  const IDENTITY: Refusal = ["device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", "device-id-mismatch"];
  const EXPIRED: Refusal = ["device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED", "device-signature-stale"];
  const NO_NONCE: Refusal = ["device nonce required", "DEVICE_AUTH_NONCE_REQUIRED", "device-nonce-missing"];
  const NONCE: Refusal = ["device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH", "device-nonce-mismatch"];
  const SIGNATURE: Refusal = ["device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", "device-signature"];
  const PUBLIC_KEY: Refusal = ["device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "device-public-key"];
  const otherKey = Buffer.alloc(32, 7).toString("base64url");
  const refused: [condition: string, options: ProofOptions, refusal: Refusal][] = [
    ["id is not the hash of the key [W6.2 W6.13]", { sent: { id: "0".repeat(64) } }, IDENTITY],
    ["key does not belong to the id", { sent: { publicKey: otherKey } }, IDENTITY],
    ["signed 121 s ago [W6.4 W6.14 H8.5]", { skewMs: -121_000 }, EXPIRED],
    ["signed 3 minutes ahead [W6.4]", { skewMs: 180_000 }, EXPIRED],
    ["blank nonce [W6.15]", { sent: { nonce: "  " } }, NO_NONCE],
    ["wrong nonce [W6.5 W6.16]", { sent: { nonce: "another" } }, NONCE],
    ["nonce of another connection [W6.16]", { signed: { nonce: "another" }, sent: { nonce: "another" } }, NONCE],
    ["signature over other scopes [W6.9]", { signed: { scopes: "operator.admin" } }, SIGNATURE],
    ["signature over another token", { signed: { token: "" } }, SIGNATURE],
    ["signature over another role [W6.17]", { signed: { role: "node" } }, SIGNATURE],
    ["signature that is text [W6.17]", { sent: { signature: "text" } }, SIGNATURE],
    ["invalid key [W6.18]", { sent: { publicKey: "text" } }, PUBLIC_KEY],
  ];
  for (const [condition, options, [message, code, reason]] of refused) {
    it(`is refused: ${condition}`, async () => {
      const { answer, close } = await prove(scene(), {}, options);
      const { details, ...error } = answer?.error ?? { details: undefined };
      assert.deepEqual(error, { code: "INVALID_REQUEST", message });
      assert.deepEqual(facts(details), { code, reason });
      assert.deepEqual(close, { code: 1008, reason: message });
    });
  }

  it("of version 1, without the nonce, is refused [W6.12]", async () => {
    const socket = await scene().open();
    const params = withProof(socket, { auth: { token: String(scene().token) } }, { version: "v2" }) as ConnectParams;
    const { nonce: _nonce, ...device } = params.device ?? { nonce: "" };
    socket.send(connectFrame(undefined, { ...params, device }));
    assert.match(String((await outcomeOf(socket)).answer?.error?.message), /^invalid connect params: /);
  });

  it("signs auth.token if present, not auth.deviceToken, and never the password [W6.8]", async () => {
    const auth = { token: String(scene().token), deviceToken: "d", password: "p" };
    assert.equal((await prove(scene(), { auth })).told, "ok");
    const { told } = await prove(scene(), { auth }, { signed: { token: "d" } });
    assert.equal(told, "DEVICE_AUTH_SIGNATURE_INVALID");
  });
});

describe("device tokens [W7.37 H8.1]", limited, () => {
  const scene = shared();
  const BAD = { token: "bad" };
  const rows: [sent: string, auth: (token: string) => object, outcome: string][] = [
    ["good shared token and bad device token: admitted [W7.27]", (token) => ({ token, deviceToken: "bad" }), "token"],
    [
      "bad shared token and good device token: admitted [W7.25 W7.28]",
      () => ({ ...BAD, deviceToken: "issued" }),
      "device:known",
    ],
    ["device token in auth.token only: admitted [W7.22 W7.29]", () => ({ token: "issued" }), "device:known"],
    ["device token in auth.deviceToken only: admitted [W7.22]", () => ({ deviceToken: "issued" }), "device:known"],
    ["bad device token alone: its own code [W7.26]", () => ({ deviceToken: "bad" }), "AUTH_DEVICE_TOKEN_MISMATCH"],
    ["bad device token in auth.token: the shared reason [W7.26]", () => ({ token: "bad" }), "AUTH_TOKEN_MISMATCH"],
    ["blank device token counts as missing", () => ({ ...BAD, deviceToken: "  " }), "AUTH_TOKEN_MISMATCH"],
  ];
  for (const [sent, auth, outcome] of rows) {
    it(sent, async () => {
      const socket = await scene().open();
      const params = { auth: auth(String(scene().token)), scopes: ["operator.read"] };
      socket.send(connectFrame(undefined, withProof(socket, params)));
      const answer = await socket.next(({ id }) => id === "c1");
      if (!answer.ok) {
        assert.equal(answer.error?.details?.["code"], outcome);
        const { code, reason } = await socket.closed;
        assert.equal(code, 1008);
        assert.match(reason, /^unauthorized/);
        if (outcome === "AUTH_DEVICE_TOKEN_MISMATCH") assert.match(reason, /device token mismatch/);
        return;
      }
      socket.send({ type: "req", id: "who", method: "wire.who" });
      const { payload } = await socket.next(({ id }) => id === "who");
      const principal = payload?.["principal"] as { id: string };
      assert.equal(principal.id, outcome);
    });
  }

  it("are not checked as device tokens without a device [W7.23]", async () => {
    const { told } = await scene().attempt({ role: "node", auth: { deviceToken: "issued" } });
    assert.notEqual(told, "ok");
  });
});

describe("pairing", limited, () => {
  const scene = shared();

  it("a device with an unknown key gets its request, and the close reason is pairing required [W10.6 W7.43 H8.4]", async () => {
    const { answer, close } = await prove(scene(), { role: "node", scopes: [] });
    assert.equal(answer?.error?.code, "NOT_PAIRED");
    const expected = { code: "PAIRING_REQUIRED", requestId: "request-1", reason: "not-paired" };
    assert.deepEqual(facts(answer?.error?.details), expected);
    assert.deepEqual(close, { code: 1008, reason: "pairing required" });
  });

  it("is not required of gateway-client in mode backend with the token [W4.26 W10.1]", async () => {
    assert.equal((await prove(scene(), { client: client({ id: "gateway-client", mode: "backend" }) })).told, "ok");
  });

  it("a node with a valid device token is admitted [W4.28]", async () => {
    assert.equal((await prove(scene(), { role: "node", scopes: [], auth: { deviceToken: "issued" } })).told, "ok");
  });
});

function client(changes: Partial<ConnectParams["client"]>): ConnectParams["client"] {
  return { id: "cli", version: "1", platform: "linux", mode: "cli", ...changes };
}
