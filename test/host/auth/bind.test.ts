/** Spec: http/auth.md §2-3. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AuthSettings, resolveBind } from "../../../host/auth/mode.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";

const token: AuthSettings = { mode: "token", token: "abcdef0123456789" };
const password: AuthSettings = { mode: "password", password: "twelve chars" };
const none: AuthSettings = { mode: "none" };
const proxy = (...trustedProxies: string[]): AuthSettings => ({
  mode: "trusted-proxy",
  trustedProxy: { userHeader: "x", requiredHeaders: [], allowUsers: [], trustedProxies },
});

const lo = [{ address: "127.0.0.1" }, { address: "::1" }];
const lan = [{ address: "192.168.1.5" }, { address: "fe80::1" }];
const overlay = [{ address: "fd7a::1" }, { address: "100.101.102.103" }];
type Interfaces = Record<string, { address: string }[]>;
const never = () => assert.fail("the interfaces were read");
const both = ["127.0.0.1", "::1"];

describe("the addresses a gateway listens on", () => {
  const rows: [
    why: string,
    section: GatewaySection,
    auth: AuthSettings,
    interfaces: Interfaces | undefined,
    addresses: string[],
  ][] = [
    ["without configuration", {}, token, undefined, both],
    ["loopback", { bind: "loopback" }, none, undefined, both],
    ["a host without bind", { customBindHost: "10.0.0.5" }, token, undefined, both],
    ["lan", { bind: "lan" }, token, undefined, ["0.0.0.0"]],
    ["lan with a password", { bind: "lan" }, password, undefined, ["0.0.0.0"]],
    ["lan behind a proxy", { bind: "lan" }, proxy("10.0.0.1"), undefined, ["0.0.0.0"]],
    ["custom", { bind: "custom", customBindHost: "10.0.0.5" }, token, undefined, ["10.0.0.5"]],
    ["custom with a loopback address", { bind: "custom", customBindHost: "127.0.0.2" }, none, undefined, ["127.0.0.2"]],
    ["tailnet", { bind: "tailnet" }, token, { lo, lan, overlay }, ["100.101.102.103"]],
    [
      "tailnet: the first of several",
      { bind: "tailnet" },
      token,
      { a: [{ address: "100.64.0.1" }], overlay },
      ["100.64.0.1"],
    ],
    [
      "tailnet: not every address that begins with 100",
      { bind: "tailnet" },
      token,
      { lo, a: [{ address: "100.128.0.1" }, { address: "100.63.0.1" }] },
      both,
    ],
    ["tailnet without one: loopback", { bind: "tailnet" }, none, { lo, lan }, both],
    ["tailnet without one or loopback: everywhere", { bind: "tailnet" }, token, { lan }, ["0.0.0.0"]],
    ["auto: loopback", { bind: "auto" }, none, { lo, lan, overlay }, both],
    ["auto without loopback: everywhere", { bind: "auto" }, token, { lan }, ["0.0.0.0"]],
    ["auto without anything: everywhere", { bind: "auto" }, token, {}, ["0.0.0.0"]],
    ["loopback with a proxy on it", {}, proxy("127.0.0.1"), undefined, both],
    ["loopback with a proxy on IPv6", {}, proxy("::1"), undefined, both],
    ["loopback with a proxy in a network", {}, proxy("10.0.0.1", "127.0.0.0/8"), undefined, both],
    [
      "lan, panel on: its own origins are seeded",
      { bind: "lan", controlUi: { enabled: true } },
      token,
      undefined,
      ["0.0.0.0"],
    ],
    [
      "auto everywhere, panel on with origins",
      { bind: "auto", controlUi: { enabled: true, allowedOrigins: ["https://a"] } },
      token,
      {},
      ["0.0.0.0"],
    ],
    [
      "auto everywhere, panel on with fallback",
      { bind: "auto", controlUi: { enabled: true, dangerouslyAllowHostHeaderOriginFallback: true } },
      token,
      {},
      ["0.0.0.0"],
    ],
    ["auto everywhere, panel not mentioned", { bind: "auto", controlUi: {} }, token, {}, ["0.0.0.0"]],
  ];
  for (const [why, section, auth, interfaces, addresses] of rows) {
    it(`${why}: ${addresses.join(" and ")}`, () =>
      assert.deepEqual(resolveBind(section, auth, interfaces ? () => interfaces : never), addresses));
  }

  const custom = (customBindHost: string): GatewaySection => ({ bind: "custom", customBindHost });
  const panel: GatewaySection = { bind: "auto", controlUi: { enabled: true, allowedOrigins: [" "] } };
  const refusals: [
    why: string,
    section: GatewaySection,
    auth: AuthSettings,
    interfaces: Interfaces | undefined,
    message: RegExp,
  ][] = [
    [
      "lan without authentication",
      { bind: "lan" },
      none,
      undefined,
      /bind is "lan".*"none".*set gateway\.auth\.mode to "token"/,
    ],
    ["another address without authentication", custom("10.0.0.5"), none, undefined, /"custom".*"none"/],
    ["every address without authentication", custom("0.0.0.0"), none, undefined, /"custom".*"none"/],
    ["tailnet without authentication", { bind: "tailnet" }, none, { lo, overlay }, /"tailnet".*"none"/],
    ["auto without authentication and loopback", { bind: "auto" }, none, { lan }, /"auto".*"none"/],
    [
      "lan in mode token without one",
      { bind: "lan" },
      { mode: "token" },
      undefined,
      /without a token; set gateway\.auth\.token/,
    ],
    [
      "lan in mode token with a blank one",
      { bind: "lan" },
      { mode: "token", token: " " },
      undefined,
      /without a token/,
    ],
    [
      "lan with a short token",
      { bind: "lan" },
      { mode: "token", token: "abc" },
      undefined,
      /"lan" and .*fewer than 16 characters.*openssl/,
    ],
    [
      "lan with a token of few different characters",
      { bind: "lan" },
      { mode: "token", token: "aaaabbbbaaaabbbb" },
      undefined,
      /fewer than 5 different/,
    ],
    [
      "lan with a short password",
      { bind: "lan" },
      { mode: "password", password: "hunter2" },
      undefined,
      /fewer than 12 characters/,
    ],
    ["lan in mode password without one", { bind: "lan" }, { mode: "password" }, undefined, /without a password; set/],
    [
      "lan in mode trusted-proxy without settings",
      { bind: "lan" },
      { mode: "trusted-proxy" },
      undefined,
      /without a trusted-proxy/,
    ],
    [
      "custom without an address",
      { bind: "custom" },
      token,
      undefined,
      /customBindHost is not set; set it to an IPv4 address/,
    ],
    ["custom with a blank address", custom(" "), token, undefined, /customBindHost is " "/],
    ["custom with a name", custom("localhost"), token, undefined, /is "localhost"; set it to an IPv4/],
    ["custom with IPv6", custom("::1"), token, undefined, /is "::1"; set it to an IPv4/],
    ["custom with short IPv4", custom("127.1"), token, undefined, /is "127\.1"; set it to an IPv4/],
    [
      "loopback with the proxy elsewhere",
      {},
      proxy("10.0.0.1"),
      undefined,
      /add "127\.0\.0\.1" to gateway\.trustedProxies, or set gateway\.bind/,
    ],
    [
      "custom loopback with the proxy elsewhere",
      custom("127.0.0.2"),
      proxy("10.0.0.1"),
      undefined,
      /listens on loopback/,
    ],
    [
      "a panel that no page may use",
      panel,
      token,
      {},
      /list the panel's addresses in gateway\.controlUi\.allowedOrigins/,
    ],
  ];
  for (const [why, section, auth, interfaces, message] of refusals) {
    it(`refuses ${why}`, () => {
      const read = interfaces ? () => interfaces : never;
      assert.throws(() => resolveBind(section, auth, read), { name: "StartupRefusal", message });
    });
  }

  it("reads this machine's interfaces by default", () => assert.ok(resolveBind({ bind: "auto" }, token).length > 0));
});
