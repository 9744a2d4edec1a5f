/** Locality, the client's address and the origin of a page, on the wire. Spec: protocol/frames-and-connect.md §8; http/auth.md §7. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outcome, Scene } from "./scene.ts";
import { shared } from "./scene.ts";

const limited = { timeout: 120_000 };
const loopback = { origin: "http://localhost:1" };
const foreign = { origin: "https://evil.example" };
const PANEL = { origin: "https://panel.example" };
const panel = { client: { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" } };
const webchat = { client: { id: "webchat-ui", version: "1", platform: "web", mode: "ui" } };
const exempt = { auth: { rateLimit: { maxAttempts: 1_000 } } };

type Headers = Record<string, string>;
type Row = [row: string, headers: Headers, allowed: boolean, params?: object];
const isOriginRefusal = ({ answer, close }: Outcome) =>
  String(answer?.error?.message).startsWith("origin not allowed") && close?.code === 1008;

function check(scene: () => Scene, rows: Row[]): void {
  for (const [row, headers, allowed, params] of rows) {
    it(`${row}: ${allowed ? "accepted" : "refused"}`, async () => {
      const outcome = await scene().attempt(params, headers);
      if (allowed) assert.equal(outcome.told, "ok");
      else assert.ok(isOriginRefusal(outcome), outcome.told);
    });
  }
}

describe("origins with nothing configured", limited, () => {
  const scene = shared({ gateway: exempt });
  check(scene, [
    ["no origin from a program [W8.7]", {}, true],
    ["no origin from the control UI [W8.7]", {}, false, panel],
    ["no origin from webchat [W8.7]", {}, false, webchat],
    ["loopback page on this machine, any port [W8.10]", loopback, true],
    ["loopback page by address", { origin: "https://127.0.0.1:9" }, true],
    ["loopback page of IPv6", { origin: "http://[::1]:9" }, true],
    ["loopback page of webchat", loopback, true, webchat],
    ["foreign page of a program", foreign, false],
    ["foreign page with localhost in its name", { origin: "http://localhost.evil.example" }, false],
    ["origin null [W8.11]", { origin: "null" }, false],
    ["origin that cannot be parsed [W8.11]", { origin: "not an origin" }, false],
    ["loopback page under a foreign Host (DNS rebinding) [W8.10 H7.2.2]", { ...loopback, host: "evil.example" }, false],
    ["loopback page under a tailnet name", { ...loopback, host: "box.ts.net" }, true],
    ["loopback page of webchat behind a proxy", { ...loopback, "x-real-ip": "1.1.1.1" }, false, webchat],
    [
      "foreign page of a program behind a proxy is not checked [W8.7]",
      { ...foreign, "x-forwarded-for": "1.1.1.1" },
      true,
    ],
    ["page that has the Host, without the flag [W8.9]", { origin: "http://gw.example", host: "gw.example" }, false],
  ]);
});

describe("origins on the list [H1.19]", limited, () => {
  const allowedOrigins = ["https://Panel.example", "http://other.example:8080"];
  const scene = shared({ gateway: { ...exempt, controlUi: { allowedOrigins } } });
  check(scene, [
    ["listed", { origin: "http://other.example:8080" }, true],
    ["listed, in lower case [W8.8]", PANEL, true],
    ["listed, in another case [H7.3.1]", { origin: "HTTPS://PANEL.EXAMPLE" }, true],
    ["listed with another port [W8.8]", { origin: "http://other.example:8081" }, false],
    ["listed with another scheme", { origin: "http://panel.example" }, false],
    ["listed, from webchat under a foreign Host", { ...PANEL, host: "gw.example" }, true, webchat],
    ["loopback page in addition to a list", loopback, true],
  ]);
});

describe("origins when any is allowed", limited, () => {
  const scene = shared({ gateway: { ...exempt, controlUi: { allowedOrigins: ["*"] } } });
  check(scene, [
    ["star: any origin [W8.8]", { origin: "https://any.example" }, true],
    ["star: null is refused", { origin: "null" }, false],
    ["star: a web client without one", {}, false, webchat],
  ]);
});

describe("origins by the Host header [H1.20]", limited, () => {
  const scene = shared({ gateway: { ...exempt, controlUi: { dangerouslyAllowHostHeaderOriginFallback: true } } });
  check(scene, [
    [
      "host fallback: the same host and port [W8.9]",
      { origin: "http://gw.example:8080", host: "gw.example:8080" },
      true,
    ],
    ["host fallback: another port", { origin: "http://gw.example:8081", host: "gw.example:8080" }, false],
    ["host fallback: another host", { origin: "http://evil.example", host: "gw.example" }, false],
  ]);
  it("host fallback: the start warns about it [H7.3.2]", () =>
    assert.match(scene().gateway.warnings.join(), /HostHeaderOriginFallback/));
});

/** Locality on the wire: with insecure auth allowed, the control UI needs no device only if the client is local. */
describe("a local client [W8.3 H7.2.1]", limited, () => {
  const scene = shared({ gateway: { ...exempt, controlUi: { allowedOrigins: ["*"], allowInsecureAuth: true } } });
  const rows: [who: string, headers: Headers, local: boolean][] = [
    ["Host 127.0.0.1", {}, true],
    ["Host localhost [W8.2]", { host: "localhost:18789" }, true],
    ["Host ::1", { host: "[::1]:18789" }, true],
    ["Host on a tailnet [W8.2]", { host: "box.ts.net" }, true],
    ["Host of another machine [W8.2]", { host: "gateway.example" }, false],
    ["x-forwarded-for", { "x-forwarded-for": "127.0.0.1" }, false],
    ["x-real-ip", { "x-real-ip": "127.0.0.1" }, false],
    ["x-forwarded-host", { "x-forwarded-host": "localhost" }, false],
  ];
  for (const [who, headers, local] of rows) {
    it(`with ${who} is ${local ? "local" : "not local"}`, async () => {
      const { told } = await scene().attempt(panel, { origin: "https://panel.example", ...headers });
      assert.equal(told, local ? "ok" : "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
    });
  }
});

describe("behind a trusted proxy", limited, () => {
  const controlUi = { allowedOrigins: ["*"], allowInsecureAuth: true };
  const trustedProxies = ["127.0.0.1", "10.0.0.0/8"];
  const scene = shared({ gateway: { ...exempt, trustedProxies, controlUi } });
  const real = shared({ gateway: { ...exempt, trustedProxies, controlUi, allowRealIpFallback: true } });
  const rows: [who: string, headers: Headers, local: boolean, gateway?: () => Scene][] = [
    ["a local client that the proxy names", { "x-forwarded-for": "127.0.0.2" }, true],
    ["the right-most hop that is not trusted [W8.4]", { "x-forwarded-for": "127.0.0.2, 203.0.113.1, 10.1.1.1" }, false],
    ["an entry to the left of a local hop", { "x-forwarded-for": "203.0.113.1, 127.0.0.2, 10.1.1.1" }, true],
    ["no client: a direct connection from a trusted loopback [W8.6]", {}, false],
    ["x-real-ip without the fallback [W8.5]", { "x-real-ip": "127.0.0.2" }, false],
    ["x-real-ip with the fallback [W8.5 H1.14]", { "x-real-ip": "127.0.0.2" }, true, real],
    ["x-real-ip next to a usable list", { "x-real-ip": "127.0.0.2", "x-forwarded-for": "203.0.113.1" }, false, real],
  ];
  for (const [who, headers, local, gateway = scene] of rows) {
    it(`${who} is ${local ? "local" : "not local"}`, async () => {
      const { told } = await gateway().attempt(panel, { origin: "https://panel.example", ...headers });
      assert.equal(told, local ? "ok" : "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
    });
  }
});
