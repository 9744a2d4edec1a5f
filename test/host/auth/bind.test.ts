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

describe("the addresses a gateway listens on [W1.10]", () => {
  const rows: [
    why: string,
    section: GatewaySection,
    auth: AuthSettings,
    addresses: string[],
    interfaces?: Interfaces,
  ][] = [
    ["without configuration", {}, token, both],
    ["loopback", { bind: "loopback" }, none, both],
    ["a host without bind", { customBindHost: "10.0.0.5" }, token, both],
    ["lan", { bind: "lan" }, token, ["0.0.0.0"]],
    ["lan with a password", { bind: "lan" }, password, ["0.0.0.0"]],
    ["lan behind a proxy", { bind: "lan" }, proxy("10.0.0.1"), ["0.0.0.0"]],
    ["custom", { bind: "custom", customBindHost: "10.0.0.5" }, token, ["10.0.0.5"]],
    ["custom with a loopback address", { bind: "custom", customBindHost: "127.0.0.2" }, none, ["127.0.0.2"]],
    ["tailnet [W1.10 H3.3]", { bind: "tailnet" }, token, ["100.101.102.103"], { lo, lan, overlay }],
    [
      "tailnet: the first of several",
      { bind: "tailnet" },
      token,
      ["100.64.0.1"],
      { a: [{ address: "100.64.0.1" }], overlay },
    ],
    [
      "tailnet: not every address that begins with 100",
      { bind: "tailnet" },
      token,
      both,
      { lo, a: [{ address: "100.128.0.1" }, { address: "100.63.0.1" }] },
    ],
    ["tailnet without one: loopback [H3.3]", { bind: "tailnet" }, none, both, { lo, lan }],
    ["tailnet without one or loopback: everywhere", { bind: "tailnet" }, token, ["0.0.0.0"], { lan }],
    ["auto: loopback [W1.10 H3.4]", { bind: "auto" }, none, both, { lo, lan, overlay }],
    ["auto without loopback: everywhere [H3.4]", { bind: "auto" }, token, ["0.0.0.0"], { lan }],
    ["auto without anything: everywhere", { bind: "auto" }, token, ["0.0.0.0"], {}],
    ["loopback with a proxy on it", {}, proxy("127.0.0.1"), both],
    ["loopback with a proxy on IPv6", {}, proxy("::1"), both],
    ["loopback with a proxy in a network", {}, proxy("10.0.0.1", "127.0.0.0/8"), both],
    ["lan, panel on: its own origins are seeded", { bind: "lan", controlUi: { enabled: true } }, token, ["0.0.0.0"]],
    [
      "auto everywhere, panel on with origins",
      { bind: "auto", controlUi: { enabled: true, allowedOrigins: ["https://a"] } },
      token,
      ["0.0.0.0"],
      {},
    ],
    [
      "auto everywhere, panel on with fallback",
      { bind: "auto", controlUi: { enabled: true, dangerouslyAllowHostHeaderOriginFallback: true } },
      token,
      ["0.0.0.0"],
      {},
    ],
    ["auto everywhere, panel not mentioned", { bind: "auto", controlUi: {} }, token, ["0.0.0.0"], {}],
  ];
  for (const [why, section, auth, addresses, interfaces] of rows) {
    it(`${why}: ${addresses.join(" and ")}`, () =>
      assert.deepEqual(resolveBind(section, auth, interfaces ? () => interfaces : never), addresses));
  }

  const custom = (customBindHost: string): GatewaySection => ({ bind: "custom", customBindHost });
  const panel: GatewaySection = { bind: "auto", controlUi: { enabled: true, allowedOrigins: [" "] } };
  const refusals: [
    why: string,
    section: GatewaySection,
    auth: AuthSettings,
    message: RegExp,
    interfaces?: Interfaces,
  ][] = [
    [
      "lan without authentication [H3.6]",
      { bind: "lan" },
      none,
      /bind is "lan".*"none".*set gateway\.auth\.mode to "token"/,
    ],
    ["another address without authentication", custom("10.0.0.5"), none, /"custom".*"none"/],
    ["every address without authentication", custom("0.0.0.0"), none, /"custom".*"none"/],
    ["tailnet without authentication", { bind: "tailnet" }, none, /"tailnet".*"none"/, { lo, overlay }],
    ["auto without authentication and loopback", { bind: "auto" }, none, /"auto".*"none"/, { lan }],
    [
      "lan in mode token without one [H3.6]",
      { bind: "lan" },
      { mode: "token" },
      /without a token; set gateway\.auth\.token/,
    ],
    ["lan in mode token with a blank one", { bind: "lan" }, { mode: "token", token: " " }, /without a token/],
    [
      "lan with a short token",
      { bind: "lan" },
      { mode: "token", token: "abc" },
      /"lan" and .*fewer than 16 characters.*openssl/,
    ],
    [
      "lan with a token of few different characters",
      { bind: "lan" },
      { mode: "token", token: "aaaabbbbaaaabbbb" },
      /fewer than 5 different/,
    ],
    [
      "lan with a short password",
      { bind: "lan" },
      { mode: "password", password: "hunter2" },
      /fewer than 12 characters/,
    ],
    ["lan in mode password without one", { bind: "lan" }, { mode: "password" }, /without a password; set/],
    [
      "lan in mode trusted-proxy without settings",
      { bind: "lan" },
      { mode: "trusted-proxy" },
      /without a trusted-proxy/,
    ],
    ["custom without an address", { bind: "custom" }, token, /customBindHost is not set; set it to an IPv4 address/],
    ["custom with a blank address", custom(" "), token, /customBindHost is " "/],
    ["custom with a name", custom("localhost"), token, /is "localhost"; set it to an IPv4/],
    ["custom with IPv6", custom("::1"), token, /is "::1"; set it to an IPv4/],
    ["custom with short IPv4", custom("127.1"), token, /is "127\.1"; set it to an IPv4/],
    [
      "loopback with the proxy elsewhere",
      {},
      proxy("10.0.0.1"),
      /add "127\.0\.0\.1" to gateway\.trustedProxies, or set gateway\.bind/,
    ],
    ["custom loopback with the proxy elsewhere", custom("127.0.0.2"), proxy("10.0.0.1"), /listens on loopback/],
    [
      "a panel that no page may use [W1.13 H3.7]",
      panel,
      token,
      /list the panel's addresses in gateway\.controlUi\.allowedOrigins/,
      {},
    ],
  ];
  for (const [why, section, auth, message, interfaces] of refusals) {
    it(`refuses ${why}`, () => {
      const read = interfaces ? () => interfaces : never;
      assert.throws(() => resolveBind(section, auth, read), { name: "StartupRefusal", message });
    });
  }

  it("reads this machine's interfaces by default", () => assert.ok(resolveBind({ bind: "auto" }, token).length > 0));
});
