/** Which clients need a device, on the wire. Spec: protocol/frames-and-connect.md §9; http/auth.md §8. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ask, type Scene, shared, start } from "./scene.ts";
import { facts } from "../../raw-socket.ts";

const limited = { timeout: 120_000 };
const panel = { client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" } };
const remote = { host: "gateway.example" };
const page = { origin: "https://panel.example", ...remote };
const exempt = { auth: { rateLimit: { maxAttempts: 1_000 } } };
const NEEDED = "CONTROL_UI_DEVICE_IDENTITY_REQUIRED";
const controlUi = { allowedOrigins: ["https://panel.example"] };

type Row = [row: string, params: object, headers: Record<string, string>, outcome: string];
function check(scene: () => Scene, rows: Row[]): void {
  for (const [row, params, headers, outcome] of rows)
    it(row, async () => assert.equal((await scene().attempt(params, headers)).told, outcome));
}

describe("without a device [W7.41 W7.42 H8.2]", limited, () => {
  check(shared({ gateway: { ...exempt, controlUi } }), [
    ["control UI, right token: needs one [W9.3]", panel, page, NEEDED],
    ["control UI, wrong token: the missing device is reported first", { ...panel, auth: { token: "x" } }, page, NEEDED],
    ["operator with the secret, from elsewhere: admitted [W9.4 W7.21]", {}, remote, "ok"],
    ["operator with a wrong secret: unauthorized [W9.5]", { auth: { token: "x" } }, remote, "AUTH_TOKEN_MISMATCH"],
    ["operator with no credential: not paired [W9.6 H8.3]", { auth: {} }, remote, "DEVICE_IDENTITY_REQUIRED"],
    ["node with the secret: not paired [W9.6]", { role: "node" }, remote, "DEVICE_IDENTITY_REQUIRED"],
  ]);
});

describe("without a device, device auth disabled [H1.22]", limited, () => {
  check(shared({ gateway: { ...exempt, controlUi: { ...controlUi, dangerouslyDisableDeviceAuth: true } } }), [
    ["bypass: control UI with the secret is admitted [W9.2 W10.2]", panel, page, "ok"],
    ["bypass: control UI with a wrong secret falls through [W9.2]", { ...panel, auth: { token: "x" } }, page, NEEDED],
    ["bypass: control UI with no secret falls through", { ...panel, auth: {} }, page, NEEDED],
    [
      "bypass: a device that is sent is ignored [W9.2]",
      { ...panel, device: { id: "x", publicKey: "x", signature: "x", signedAt: 1, nonce: "x" } },
      page,
      "ok",
    ],
    ["bypass: no other client gets it", { role: "node" }, remote, "DEVICE_IDENTITY_REQUIRED"],
  ]);
});

describe("without a device, insecure auth allowed [H1.21]", limited, () => {
  const here = { origin: "https://panel.example" };
  check(shared({ gateway: { ...exempt, controlUi: { ...controlUi, allowInsecureAuth: true } } }), [
    ["insecure: control UI of this machine with the secret is admitted [W9.3]", panel, here, "ok"],
    ["insecure: control UI from elsewhere needs one [W9.3]", panel, page, NEEDED],
    ["insecure: a wrong secret is unauthorized", { ...panel, auth: { token: "x" } }, here, "AUTH_TOKEN_MISMATCH"],
  ]);
});

describe("the error of a client that needs a device", limited, () => {
  const scene = shared({ gateway: { ...exempt, controlUi } });

  it("the control UI: INVALID_REQUEST with secure context in the message, 1008 [W9.3]", async () => {
    const { answer, close } = await scene().attempt(panel, page);
    assert.equal(answer?.error?.code, "INVALID_REQUEST");
    assert.match(answer.error.message, /secure context/);
    assert.match(String(close?.reason), /secure context/);
    assert.equal(close?.code, 1008);
  });

  it("others: NOT_PAIRED device identity required, 1008 [W9.6]", async () => {
    const { answer, close } = await scene().attempt({ auth: {} });
    const { code, message, details } = answer?.error ?? {};
    assert.deepEqual([code, message], ["NOT_PAIRED", "device identity required"]);
    assert.deepEqual(facts(details), { code: "DEVICE_IDENTITY_REQUIRED" });
    assert.deepEqual(close, { code: 1008, reason: "device identity required" });
  });
});

describe("scopes without a device", limited, () => {
  it("are kept with the secret, from elsewhere too [W9.7]", async (t) => {
    const { join } = await start(t, { gateway: exempt });
    const socket = await join({ scopes: ["operator.admin", "operator.read"] }, remote);
    const { principal } = (await ask(socket, "wire.who")).payload ?? {};
    assert.deepEqual((principal as { scopes: string[] }).scopes, ["operator.admin", "operator.read"]);
  });

  it("control UI by a trusted proxy needs no device, its scopes are kept [W9.1 H5.9]", async (t) => {
    const auth = { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } };
    const { open } = await start(t, { gateway: { auth, trustedProxies: ["127.0.0.1"], controlUi } });
    const secret = "proxy-secret-of-this-test";
    const headers = { "x-user": "ada", "x-forwarded-for": "203.0.113.1", "x-svc-proxy-secret": secret };
    const socket = await open({ ...page, ...headers });
    const params = { minProtocol: 3, maxProtocol: 3, ...panel, scopes: ["operator.admin"] };
    socket.send({ type: "req", id: "c1", method: "connect", params });
    assert.equal((await socket.next(({ id }) => id === "c1")).ok, true);
    const { principal } = (await ask(socket, "wire.who")).payload ?? {};
    assert.deepEqual((principal as { scopes: string[] }).scopes, ["operator.admin"]);
  });
});
