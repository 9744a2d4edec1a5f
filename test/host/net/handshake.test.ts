/** What `connect` decides, beyond the rows of conformance/wire. Spec: protocol/frames-and-connect.md §5-§10; http/auth.md §5, §8. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Identity } from "@svc/sdk";
import type { AuthSettings } from "../../../host/auth/settings.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";
import { handshake, type HandshakeContext, HandshakeRefusal } from "../../../host/net/ws/handshake.ts";
import { type Changes, connect, context, device, local, none, remote, type Socket } from "./connect-scene.ts";

const panel = { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" };
const page = (socket: Socket, origin: string): Socket => ({ ...socket, headers: { ...socket.headers, origin } });
const controlUi = { allowedOrigins: ["https://panel.example"] };

const trustedProxy = { userHeader: "x-user", requiredHeaders: [], allowUsers: [], trustedProxies: ["10.0.0.9"] };
const byProxy: AuthSettings = { mode: "trusted-proxy", trustedProxy };
const proxySection: GatewaySection = { trustedProxies: ["10.0.0.9"], controlUi };
const proxied = (origin: string): Changes => ({
  auth: byProxy,
  gateway: proxySection,
  peer: {
    remoteAddress: "10.0.0.9",
    headers: { host: "gateway.example", "x-forwarded-for": "203.0.113.1", "x-user": "ada", origin },
  },
});
const vouching = (id: string, scopes: Identity["scopes"]): Changes => ({
  vouch: () => Promise.resolve({ id, scopes }),
});
const withDevice = (auth: object, more: object = {}) => ({ auth, ...more, device: device({ auth, ...more }) });

/** `ok: <principal> <scopes>`, else the detail code. */
const outcomeOf = (params: object, asked: HandshakeContext) =>
  handshake(connect(params), asked).then(
    ({ principal: { id, scopes } }) => `ok: ${id} ${scopes.join(",")}`,
    (thrown: unknown) => {
      assert.ok(thrown instanceof HandshakeRefusal);
      assert.equal(thrown.closeCode, 1008);
      return String((thrown.error?.details as { code?: string } | undefined)?.code);
    },
  );

const ALL = "operator.read,operator.write";
const rows: [row: string, params: object, changes: Changes, outcome: string][] = [
  [
    "the control panel with a device [W4.27]",
    { client: panel, device: device({ client: panel }) },
    { peer: page(local, "http://127.0.0.1:18789") },
    `ok: token ${ALL}`,
  ],
  [
    "the control panel by a trusted proxy, as a node [W9.1]",
    { client: panel, role: "node", auth: {} },
    proxied("https://panel.example"),
    "CONTROL_UI_DEVICE_IDENTITY_REQUIRED",
  ],
  ["a foreign page by a trusted proxy", { auth: {} }, proxied("https://evil.example"), "ORIGIN_NOT_ALLOWED"],
  [
    "the device of a wrong secret is checked, although device auth is disabled",
    { client: panel, auth: { token: "wrong" }, device: device({ client: panel }, { nonce: "other" }) },
    {
      peer: page(remote, "https://panel.example"),
      gateway: { controlUi: { ...controlUi, dangerouslyDisableDeviceAuth: true } },
    },
    "DEVICE_AUTH_NONCE_MISMATCH",
  ],
  [
    "a node without a device is not admitted by a plugin that knows its token [W9.8]",
    { role: "node", auth: { token: "sso" } },
    vouching("sso:x", []),
    "AUTH_TOKEN_MISMATCH",
  ],
  [
    "a plugin vouches for a device, with no more scopes than requested",
    withDevice({ deviceToken: "issued" }),
    vouching("device:x", ["operator.read", "operator.pairing"]),
    "ok: device:x operator.read",
  ],
  [
    "a plugin vouches for a client without a device",
    { auth: { token: "sso" } },
    vouching("sso:ada", ["operator.read", "operator.write"]),
    `ok: sso:ada ${ALL}`,
  ],
  [
    "mode none from far away, with a device for which no plugin vouches",
    withDevice({}),
    { auth: none, peer: remote },
    "PAIRING_REQUIRED",
  ],
];

describe("who may connect", () => {
  for (const [row, params, changes, outcome] of rows)
    it(row, async () => assert.equal(await outcomeOf(params, context(changes)), outcome));

  it("a verified device is named by its id", async () => {
    const claim = device();
    assert.equal((await handshake(connect({ device: claim }), context())).deviceId, claim.id);
  });

  it("params that are no object are refused", async () => {
    const text = JSON.stringify({ type: "req", id: "c1", method: "connect", params: [] });
    await assert.rejects(handshake(text, context()), { closeCode: 1008, closeReason: /must be object/ });
  });

  it("no plugin is asked for a node without a device, or for a client without a credential [W9.7]", async () => {
    const asked = { vouch: () => assert.fail("a plugin was asked") };
    assert.equal(await outcomeOf({ role: "node", auth: { token: "wrong" } }, context(asked)), "AUTH_TOKEN_MISMATCH");
    assert.equal(await outcomeOf({ auth: {} }, context(asked)), "DEVICE_IDENTITY_REQUIRED");
  });
});

describe("guesses", () => {
  const gateway: GatewaySection = { auth: { rateLimit: { maxAttempts: 3, exemptLoopback: false } } };

  /** Outcomes of one attempt after another, by one client. */
  async function outcomes(changes: Changes, attempts: readonly object[]) {
    const shared = context({ gateway, ...changes });
    const codes = [];
    for (const params of attempts) codes.push(await outcomeOf(params, shared));
    return codes;
  }
  const four = ["1", "2", "3", "4"];

  it("of tokens of plugins, without a device, cause a lock, and then no plugin is asked", async () => {
    let asked = 0;
    const vouch = () => Promise.resolve(void asked++ as undefined);
    const guesses = [...four, "5"].map((token) => ({ auth: { token } }));
    assert.deepEqual(await outcomes({ vouch }, guesses), [
      ...Array<string>(3).fill("AUTH_TOKEN_MISMATCH"),
      ...Array<string>(2).fill("AUTH_RATE_LIMITED"),
    ]);
    assert.equal(asked, 3);
  });

  it("of the secret, with a device anyone can create, cause a lock, also for the right secret", async () => {
    const guesses = [...four, "right"].map((token) => withDevice({ token }));
    assert.deepEqual((await outcomes({}, guesses)).slice(2), [
      "AUTH_TOKEN_MISMATCH",
      "AUTH_RATE_LIMITED",
      "AUTH_RATE_LIMITED",
    ]);
  });

  it("of device tokens have their own limit: with a device no credential is checked, without one the secret is", async () => {
    const guesses = [...four.map((deviceToken) => withDevice({ deviceToken })), withDevice({ token: "right" }), {}];
    assert.deepEqual(await outcomes({}, guesses), [
      ...Array<string>(3).fill("AUTH_DEVICE_TOKEN_MISMATCH"),
      ...Array<string>(2).fill("AUTH_RATE_LIMITED"),
      `ok: token ${ALL}`,
    ]);
  });

  it("that a plugin denies get its reason, and count as failures like any other", async () => {
    const denial = { allow: false, reason: "the link is used", code: "NOT_PAIRED", details: { code: "X" } } as const;
    const vouch = () => Promise.resolve(denial);
    const error = { code: "NOT_PAIRED", message: "the link is used", details: { code: "X" } };
    const refused = { closeCode: 1008, closeReason: "the link is used", error };
    await assert.rejects(handshake(connect({ auth: { token: "t" } }), context({ vouch })), refused);
    const bare = () => Promise.resolve({ allow: false, reason: "" } as const);
    assert.equal(await outcomeOf({ auth: { token: "t" } }, context({ vouch: bare })), "AUTH_UNAUTHORIZED");
    const attempts = [...four.map((token) => withDevice({ token })), withDevice({ token: "right" })];
    assert.deepEqual(await outcomes({ vouch }, attempts), ["X", "X", "X", "AUTH_RATE_LIMITED", "AUTH_RATE_LIMITED"]);
    assert.equal(await outcomeOf({}, context({ vouch })), `ok: token ${ALL}`, "nobody is asked about the right secret");
  });

  it("that a plugin vouches for do not count as failures, with or without a device", async () => {
    const auth = { token: "somebody" };
    const attempts = Array.from({ length: 12 }, (_, turn) => (turn % 2 ? { auth } : withDevice(auth)));
    const told = await outcomes(vouching("device:x", ["operator.read"]), attempts);
    assert.deepEqual(new Set(told), new Set(["ok: device:x operator.read"]));
  });
});
