/** Rows of protocol/frames-and-connect.md §7-§9 and http/auth.md §5, §8 on who needs a device and which credential counts, in addition to conformance/wire/device-presence and device. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuthSettings } from "../../../host/auth/settings.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";
import { handshake } from "../../../host/net/ws/handshake.ts";
import { type Changes, connect, context, device, none, refusal, remote, type Socket } from "./connect-scene.ts";

const client = { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" };
const page = (socket: Socket, origin: string): Socket => ({ ...socket, headers: { ...socket.headers, origin } });
const there = page(remote, "https://panel.example");
const origins = { allowedOrigins: ["https://panel.example"] };
const NEEDED = "CONTROL_UI_DEVICE_IDENTITY_REQUIRED";

const trustedProxy = { userHeader: "x-user", requiredHeaders: [], allowUsers: [], trustedProxies: ["10.0.0.9"] };
const byProxy: AuthSettings = { mode: "trusted-proxy", trustedProxy };
const proxySection: GatewaySection = { trustedProxies: ["10.0.0.9"], controlUi: origins };
const proxied = (headers: Record<string, string> = {}): Socket => ({
  remoteAddress: "10.0.0.9",
  headers: { host: "gateway.example", "x-forwarded-for": "203.0.113.1", "x-user": "ada", ...headers },
});

type Row = [row: string, params: object, changes: Changes, outcome: string];
const secure = (controlUi: GatewaySection["controlUi"]): GatewaySection => ({
  controlUi: { ...origins, ...controlUi },
});
const disabled = { peer: there, gateway: secure({ dangerouslyDisableDeviceAuth: true }) };
const broken = device({ client }, { nonce: "other" });

/** `ok: <principal> <scopes>`, or the detail code. */
async function outcomeOf(params: object, changes: Changes): Promise<string> {
  try {
    const { principal } = await handshake(connect(params), context(changes));
    return `ok: ${principal.id} ${principal.scopes.join(",")}`;
  } catch {
    const { error } = await refusal(connect(params), changes);
    const { details } = error ?? {};
    return String((details as { code?: string } | undefined)?.code ?? error?.message);
  }
}

const ALL = "operator.read,operator.write";
const rows: Row[] = [
  [
    "§9 row 1: the panel by a trusted proxy, operator, without a device",
    { client, auth: {} },
    { auth: byProxy, gateway: proxySection, peer: proxied({ origin: "https://panel.example" }) },
    `ok: trusted-proxy:ada ${ALL}`,
  ],
  [
    "§9 row 1: the panel by a trusted proxy, as a node [W9.1]",
    { client, role: "node", auth: {} },
    { auth: byProxy, gateway: proxySection, peer: proxied({ origin: "https://panel.example" }) },
    NEEDED,
  ],
  [
    "§9 row 2: device auth disabled does not help without the secret: the device is checked",
    { client, auth: { token: "wrong" }, device: broken },
    disabled,
    "DEVICE_AUTH_NONCE_MISMATCH",
  ],
  ["§9 row 4: an operator from far away with the secret [W7.21]", {}, { peer: remote }, `ok: token ${ALL}`],
  ["§9 row 6: no credential at all [H8.3]", { auth: {} }, { peer: remote }, "DEVICE_IDENTITY_REQUIRED"],
  [
    "§9 row 6: mode none from far away [W9.6 W7.21]",
    { auth: {} },
    { auth: none, peer: remote },
    "DEVICE_IDENTITY_REQUIRED",
  ],
  [
    "§9: a node without a device is not admitted by a plugin that knows its token [W9.8]",
    { role: "node", auth: { token: "sso" } },
    { vouch: () => Promise.resolve({ id: "sso:x", scopes: [] }) },
    "AUTH_TOKEN_MISMATCH",
  ],

  [
    "§8 trusted-proxy: a page from elsewhere",
    { auth: {} },
    { auth: byProxy, gateway: proxySection, peer: proxied({ origin: "https://evil.example" }) },
    "origin",
  ],
];

const vouch: Changes["vouch"] = ({ connect: { auth } }) =>
  Promise.resolve(
    [auth?.deviceToken, auth?.token].includes("issued") ? { id: "device:x", scopes: ["operator.read"] } : undefined,
  );
const withDevice = (auth: object, more: object = {}) => ({ auth, ...more, device: device({ auth, ...more }) });
const precedence: Row[] = [
  [
    "§7 good shared token and bad deviceToken: through the shared token",
    withDevice({ token: "right", deviceToken: "bad" }),
    { vouch },
    `ok: token ${ALL}`,
  ],
  [
    "§7 bad shared token and good deviceToken: through the device token",
    withDevice({ token: "wrong", deviceToken: "issued" }),
    { vouch },
    "ok: device:x operator.read",
  ],
  [
    "§10 a device without a credential, for which no plugin vouches",
    withDevice({}, { client: { id: "cli", version: "1", platform: "linux", mode: "cli" } }),
    { vouch, auth: none, peer: remote },
    "PAIRING_REQUIRED",
  ],
];

describe("who may connect, row by row", () => {
  for (const [row, params, changes, outcome] of [...rows, ...precedence]) {
    it(row, async () => {
      const told = await outcomeOf(params, changes);
      if (outcome === "origin") assert.equal(told, "ORIGIN_NOT_ALLOWED");
      else assert.equal(told, outcome);
    });
  }
});

describe("guessing", () => {
  const gateway: GatewaySection = { auth: { rateLimit: { maxAttempts: 3, exemptLoopback: false } } };

  it("tokens of plugins without a device causes a lock, like guessing the secret", async () => {
    let asked = 0;
    const shared = context({ gateway, vouch: () => Promise.resolve(void asked++ as undefined) });
    const codes = [];
    for (let turn = 0; turn < 5; turn++) {
      const error = await handshake(connect({ auth: { token: `guess-${turn}` } }), shared).catch(
        (thrown: unknown) => thrown,
      );
      codes.push((error as { error: { details: { code: string } } }).error.details.code);
    }
    assert.deepEqual(codes, [...Array(3).fill("AUTH_TOKEN_MISMATCH"), ...Array(2).fill("AUTH_RATE_LIMITED")]);
    assert.equal(asked, 3, "who is locked out is judged by nobody");
  });

  it("device tokens has a separate budget: with a device nothing is checked any more, the secret alone still is", async () => {
    const shared = context({ gateway });
    const attempt = (auth: object) =>
      handshake(connect(withDevice(auth)), shared).then(
        () => "ok",
        (thrown: unknown) => (thrown as { error: { details: { code: string } } }).error.details.code,
      );
    const codes = [];
    for (let turn = 0; turn < 4; turn++) codes.push(await attempt({ deviceToken: `guess-${turn}` }));
    assert.deepEqual(codes, [...Array(3).fill("AUTH_DEVICE_TOKEN_MISMATCH"), "AUTH_RATE_LIMITED"]);
    assert.equal(await attempt({ token: "right" }), "AUTH_RATE_LIMITED");
    assert.equal((await handshake(connect(), shared)).principal.id, "token");
  });
});
