/** Who is admitted, and refusals beyond those of conformance/wire/connect-order. Spec: protocol/frames-and-connect.md §5-§9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Identity } from "@svc/sdk";
import { handshake } from "../../../host/net/ws/handshake.ts";
import { type Changes, connect, context, device, local, none, password, refusal, remote } from "./connect-scene.ts";
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
      "the control panel with a device [W4.27]",
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

describe("handshake refuses", () => {
  const rows: [why: string, text: string, reason: string | RegExp, details?: object, changes?: Changes][] = [
    ["unknown params", connect({ novelty: 1 }), /^invalid connect params: at root: unexpected property 'novelty'/],
    [
      "a client without a version",
      connect({ client: { id: "cli", platform: "x", mode: "cli" } }),
      /^invalid connect params: at \/client: /,
    ],
    [
      "params that are no object",
      JSON.stringify({ type: "req", id: "c1", method: "connect", params: [] }),
      /must be object/,
    ],
    [
      "mode none from far away with a new device",
      connect({ auth: {}, device: device({ auth: {} }) }),
      "pairing required",
      { code: "PAIRING_REQUIRED", reason: "not-paired" },
      { auth: none, peer: remote },
    ],
  ];
  for (const [why, text, reason, details, changes] of rows) {
    it(why, async () => {
      const { closeCode, closeReason, error } = await refusal(text, changes);
      assert.equal(closeCode, 1008);
      if (typeof reason === "string") assert.equal(closeReason, reason);
      else assert.match(closeReason, reason);
      assert.equal(error?.code, details ? "NOT_PAIRED" : "INVALID_REQUEST");
      if (details) assert.deepEqual(facts(error?.details), details);
    });
  }

  it("a node's credential without a device, without asking any plugin", async () => {
    let asked = 0;
    const vouch = () => Promise.resolve(void asked++ as undefined);
    const { error } = await refusal(connect({ role: "node", auth: { token: "wrong" } }), { vouch });
    assert.deepEqual([error?.code, asked], ["INVALID_REQUEST", 0]);
  });

  it("asks no plugin when the client sent no credential [W9.7]", async () => {
    let asked = 0;
    await refusal(connect({ auth: {} }), { vouch: () => Promise.resolve(void asked++ as undefined) });
    assert.equal(asked, 0);
  });
});
