/** Every row of "Order of checks in connect". Spec: protocol/frames-and-connect.md §5-§9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Identity } from "@svc/sdk";
import { handshake } from "../../../host/net/ws/handshake.ts";
import {
  type Changes,
  connect,
  context,
  device,
  local,
  none,
  NOW,
  password,
  refusal,
  remote,
} from "./connect-scene.ts";
import { facts } from "../../raw-socket.ts";

describe("handshake accepts", () => {
  const accepted: [why: string, text: string, changes?: Changes][] = [
    ["the token", connect()],
    ["a range around the gateway's version", connect({ minProtocol: 1, maxProtocol: 9 })],
    ["the password in auth.password", connect({ auth: { password: "right" } }), { auth: password }],
    ["the password in auth.token", connect({ auth: { token: "right" } }), { auth: password }],
    ["a token with blanks around it", connect({ auth: { token: " right " } })],
    ["no credential in mode none, on this machine", connect({ auth: {} }), { auth: none }],
    ["the token from far away", connect(), { peer: remote }],
    [
      "an unknown client id and mode",
      connect({ client: { id: "ios-node", version: "1", platform: "x", mode: "operator", extra: 1 } }),
    ],
    [
      "a page of this machine",
      connect(),
      { peer: { ...local, headers: { ...local.headers, origin: "http://localhost:5173" } } },
    ],
    [
      "a page that is on the list",
      connect(),
      {
        peer: { ...remote, headers: { origin: "https://Panel.example" } },
        gateway: { controlUi: { allowedOrigins: ["https://panel.example"] } },
      },
    ],
    [
      "the control panel with a device",
      connect({
        client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" },
        device: device({ client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" } }),
      }),
      { peer: { ...local, headers: { ...local.headers, origin: "http://127.0.0.1:18789" } } },
    ],
  ];
  for (const [why, text, changes] of accepted) {
    it(why, async () => {
      const { principal, requestId } = await handshake(text, context(changes));
      assert.deepEqual(principal.scopes, ["operator.read", "operator.write"]);
      assert.equal(requestId, "c1");
    });
  }

  it("the contract's admin alias, each scope once", async () => {
    const { principal } = await handshake(connect({ scopes: ["admin", "operator.admin", "operator.read"] }), context());
    assert.deepEqual(principal.scopes, ["operator.admin", "operator.read"]);
  });

  it("a verified device, and returns its id", async () => {
    const claim = device();
    assert.equal((await handshake(connect({ device: claim }), context())).deviceId, claim.id);
  });

  it("a client that a plugin vouches for, with no more scopes than requested", async () => {
    const identity: Identity = { id: "device:x", scopes: ["operator.read", "operator.pairing"] };
    const { principal } = await handshake(
      connect({ auth: { deviceToken: "issued" }, device: device({ auth: { deviceToken: "issued" } }) }),
      context({ vouch: () => Promise.resolve(identity) }),
    );
    assert.deepEqual([principal.id, principal.scopes], ["device:x", ["operator.read"]]);
  });

  it("a client that a plugin knows by another kind of token, without a device", async () => {
    const identity: Identity = { id: "sso:ada", scopes: ["operator.read", "operator.write"] };
    const vouch = () => Promise.resolve(identity);
    const { principal } = await handshake(connect({ auth: { token: "sso" } }), context({ vouch }));
    assert.equal(principal.id, "sso:ada");
  });
});

describe("handshake refuses, in the wire's order", () => {
  type Row = [
    why: string,
    text: string,
    expected: { close: [number, string | RegExp]; code?: string; details?: object },
    changes?: Changes,
  ];
  const web = { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" };
  const rows: Row[] = [
    ["text that is not JSON, without a message", "hello", { close: [1000, ""] }],
    [
      "a frame that is not a request, without a response",
      JSON.stringify({ type: "req", id: "1" }),
      { close: [1008, "invalid request frame"] },
    ],
    ["a frame with an extra key", connect({}, { extra: 1 }), { close: [1008, "invalid request frame"] }],
    [
      "another first method",
      connect({}, { method: "health" }),
      { close: [1008, /^invalid handshake: first request must be connect/], code: "INVALID_REQUEST" },
    ],
    [
      "a client that is too new, before its schema",
      JSON.stringify({
        type: "req",
        id: "c1",
        method: "connect",
        params: { minProtocol: 4, maxProtocol: 5, novelty: true },
      }),
      {
        close: [1002, "protocol mismatch"],
        code: "PROTOCOL_MISMATCH",
        details: { code: "PROTOCOL_MISMATCH", expectedProtocol: 3 },
      },
    ],
    [
      "a client that is too old",
      connect({ minProtocol: 1, maxProtocol: 2 }),
      {
        close: [1002, "protocol mismatch"],
        code: "PROTOCOL_MISMATCH",
        details: { code: "PROTOCOL_MISMATCH", expectedProtocol: 3 },
      },
    ],
    [
      "unknown params",
      connect({ novelty: 1 }),
      { close: [1008, /^invalid connect params: at root: unexpected property 'novelty'/], code: "INVALID_REQUEST" },
    ],
    [
      "a client without a version",
      connect({ client: { id: "cli", platform: "x", mode: "cli" } }),
      { close: [1008, /^invalid connect params: at \/client: /], code: "INVALID_REQUEST" },
    ],
    [
      "params that are no object",
      JSON.stringify({ type: "req", id: "c1", method: "connect", params: [] }),
      { close: [1008, /must be object/], code: "INVALID_REQUEST" },
    ],
    ["another role", connect({ role: "king" }), { close: [1008, "invalid role"], code: "INVALID_REQUEST" }],
    ["the role before the origin", connect({ role: "king", client: web }), { close: [1008, "invalid role"] }],
    [
      "a page from elsewhere",
      connect(),
      { close: [1008, /^origin not allowed/], code: "INVALID_REQUEST" },
      { peer: { ...local, headers: { ...local.headers, origin: "https://evil.example" } } },
    ],
    [
      "a page with origin null",
      connect(),
      { close: [1008, /^origin not allowed/] },
      { peer: { ...local, headers: { ...local.headers, origin: "null" } } },
    ],
    [
      "a web client without an origin",
      connect({ client: { ...web, id: "webchat-ui" } }),
      { close: [1008, /^origin not allowed/] },
    ],
    [
      "the origin before the token",
      connect({ auth: { token: "wrong" } }),
      { close: [1008, /^origin not allowed/] },
      { peer: { ...local, headers: { ...local.headers, origin: "https://evil.example" } } },
    ],
    [
      "the control panel without a device, before its token",
      connect({ client: web, auth: { token: "wrong" } }),
      {
        close: [1008, /secure context/],
        code: "INVALID_REQUEST",
        details: { code: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED" },
      },
      { peer: { ...local, headers: { ...local.headers, origin: "http://localhost" } } },
    ],
    [
      "no credential",
      connect({ auth: {} }),
      { close: [1008, "device identity required"], code: "NOT_PAIRED", details: { code: "DEVICE_IDENTITY_REQUIRED" } },
    ],
    [
      "blank credentials as missing",
      connect({ auth: { token: " ", password: "" } }),
      { close: [1008, "device identity required"], code: "NOT_PAIRED" },
    ],
    [
      "a wrong token",
      connect({ auth: { token: "wrong" } }),
      {
        close: [1008, /^unauthorized: gateway token mismatch/],
        code: "INVALID_REQUEST",
        details: { code: "AUTH_TOKEN_MISMATCH", authReason: "token_mismatch" },
      },
    ],
    [
      "a password where a token is expected",
      connect({ auth: { password: "x" } }),
      {
        close: [1008, /^unauthorized: gateway token missing/],
        details: { code: "AUTH_TOKEN_MISSING", authReason: "token_missing" },
      },
    ],
    [
      "a wrong password",
      connect({ auth: { password: "wrong" } }),
      {
        close: [1008, /^unauthorized: gateway password mismatch/],
        details: { code: "AUTH_PASSWORD_MISMATCH", authReason: "password_mismatch" },
      },
      { auth: password },
    ],
    [
      "mode none from far away without a device",
      connect({ auth: {} }),
      { close: [1008, "device identity required"], code: "NOT_PAIRED" },
      { auth: none, peer: remote },
    ],
    [
      "mode none from far away with a new device",
      connect({ auth: {}, device: device({ auth: {} }) }),
      {
        close: [1008, "pairing required"],
        code: "NOT_PAIRED",
        details: { code: "PAIRING_REQUIRED", reason: "not-paired" },
      },
      { auth: none, peer: remote },
    ],
    [
      "a node without a device",
      connect({ role: "node" }),
      { close: [1008, "device identity required"], code: "NOT_PAIRED", details: { code: "DEVICE_IDENTITY_REQUIRED" } },
    ],
    [
      "an unpaired node",
      connect({ role: "node", device: device({ role: "node" }) }),
      {
        close: [1008, "pairing required"],
        code: "NOT_PAIRED",
        details: { code: "PAIRING_REQUIRED", reason: "not-paired" },
      },
    ],
    [
      "a stale device signature",
      connect({ device: device({}, { signedAt: NOW - 121_000 }) }),
      {
        close: [1008, "device signature expired"],
        details: { code: "DEVICE_AUTH_SIGNATURE_EXPIRED", reason: "device-signature-stale" },
      },
    ],
    [
      "a signature for another nonce",
      connect({ device: device({}, { nonce: "other" }) }),
      {
        close: [1008, "device nonce mismatch"],
        details: { code: "DEVICE_AUTH_NONCE_MISMATCH", reason: "device-nonce-mismatch" },
      },
    ],
    [
      "a signature over other scopes",
      connect({ scopes: ["operator.admin"], device: device() }),
      {
        close: [1008, "device signature invalid"],
        details: { code: "DEVICE_AUTH_SIGNATURE_INVALID", reason: "device-signature" },
      },
    ],
    [
      "a bad proof before a wrong token",
      connect({ auth: { token: "wrong" }, device: device({}, { nonce: "other" }) }),
      { close: [1008, "device nonce mismatch"] },
    ],
    [
      "an unknown device token",
      connect({ auth: { deviceToken: "x" }, device: device({ auth: { deviceToken: "x" } }) }),
      {
        close: [1008, /device token mismatch/],
        details: { code: "AUTH_DEVICE_TOKEN_MISMATCH", authReason: "device_token_mismatch" },
      },
    ],
  ];
  for (const [why, text, { close, code, details }, changes] of rows) {
    it(why, async () => {
      const { closeCode, closeReason, error } = await refusal(text, changes);
      assert.equal(closeCode, close[0]);
      if (typeof close[1] === "string") assert.equal(closeReason, close[1]);
      else assert.match(closeReason, close[1]);
      if (code) assert.equal(error?.code, code);
      if (details) assert.deepEqual(facts(error?.details), details);
      if (closeReason === "" || closeReason === "invalid request frame") assert.equal(error, undefined);
    });
  }

  it("a node's credential without a device, without asking any plugin", async () => {
    let asked = 0;
    const vouch = () => Promise.resolve(void asked++ as undefined);
    const { error } = await refusal(connect({ role: "node", auth: { token: "wrong" } }), { vouch });
    assert.deepEqual([error?.code, asked], ["INVALID_REQUEST", 0]);
  });

  it("asks no plugin when the client sent no credential", async () => {
    let asked = 0;
    await refusal(connect({ auth: {} }), { vouch: () => Promise.resolve(void asked++ as undefined) });
    assert.equal(asked, 0);
  });
});
