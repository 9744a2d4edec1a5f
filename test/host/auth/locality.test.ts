/** Which clients are on this machine, and which pages may connect. Spec: protocol/frames-and-connect.md §8. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { type Peer, proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";
import { checkOrigin, isLocal, isLoopback, type OriginPolicy, originRefusal } from "../../../host/auth/locality.ts";

const peer = (headers: IncomingHttpHeaders = {}, remoteAddress = "127.0.0.1", trustedProxies: string[] = []): Peer =>
  resolvePeer(remoteAddress, { host: "127.0.0.1:18789", ...headers }, proxyPolicy({ trustedProxies }));

describe("addresses", () => {
  const loopback: [address: string, is: boolean][] = [
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["::1", true],
    ["[::1]", true],
    ["::ffff:127.0.0.1", true],
    ["[::ffff:127.0.0.1]", true],
    ["::ffff:7f00:1", true],
    ["0:0:0:0:0:0:0:1", true],
    ["::127.0.0.1", false],
    ["[127.0.0.1]", false],
    ["127.0.0.1:80", false],
    ["0177.0.0.1", false],
    ["128.0.0.1", false],
    ["1.127.0.0", false],
    ["127.0.0.1.example.com", false],
    ["127.1", false],
    ["0.0.0.0", false],
    ["::", false],
    ["localhost", false],
    ["", false],
  ];
  for (const [address, is] of loopback) {
    it(`${address || "none"} is ${is ? "" : "not "}loopback`, () => assert.equal(isLoopback(address), is));
  }
});

describe("a local client [W8.1 H7.2.1]", () => {
  const remotes: [address: string, local: boolean][] = [
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["::1", true],
    ["::ffff:127.0.0.1", true],
    ["10.0.0.1", false],
    ["::ffff:10.0.0.1", false],
    ["fe80::1", false],
    ["", false],
  ];
  for (const [address, local] of remotes) {
    it(`${local ? "may" : "does not"} come from ${address || "nowhere"} [W8.1]`, () => {
      assert.equal(isLocal(peer({}, address)), local);
    });
  }

  const hosts: [host: string, local: boolean][] = [
    ["localhost", true],
    ["localhost:1", true],
    ["LOCALHOST:18789", true],
    ["127.0.0.1", true],
    ["127.9.9.9:80", true],
    ["[::1]", true],
    ["[::1]:18789", true],
    ["[::ffff:127.0.0.1]:1", true],
    ["foo.ts.net", true],
    ["Foo.TS.NET:443", true],
    ["", false],
    ["example.com", false],
    ["localhost.example.com", false],
    ["127.0.0.1.example.com", false],
    ["notts.net", false],
    ["foo.ts.net.example.com", false],
    ["10.0.0.1:18789", false],
    ["[fe80::1]:18789", false],
    ["0.0.0.0:18789", false],
  ];
  for (const [host, local] of hosts) {
    it(`${local ? "may ask" : "does not ask"} for ${host || "nothing"}`, () =>
      assert.equal(isLocal(peer({ host })), local));
  }

  it("must send a Host header", () => assert.equal(isLocal(resolvePeer("127.0.0.1", {}, proxyPolicy({}))), false));

  for (const header of ["x-forwarded-for", "x-real-ip", "x-forwarded-host", "forwarded"]) {
    it(`does not come through a proxy that sets ${header}`, () => {
      assert.equal(isLocal(peer({ [header]: "127.0.0.1" })), false);
      assert.equal(isLocal(peer({ [header]: "" })), false);
    });
  }

  const proxied: [why: string, headers: IncomingHttpHeaders, from: string, trusted: string[], local: boolean][] = [
    ["through a local trusted proxy, for a local client", { "x-forwarded-for": "127.0.0.1" }, "::1", ["::1"], true],
    ["through a local trusted proxy, for a remote client", { "x-forwarded-for": "1.1.1.1" }, "::1", ["::1"], false],
    ["through a local trusted proxy that names no client", {}, "127.0.0.1", ["127.0.0.1"], false],
    [
      "through a remote trusted proxy, for its loopback",
      { "x-forwarded-for": "127.0.0.1" },
      "10.0.0.1",
      ["10.0.0.1"],
      false,
    ],
    ["through an untrusted peer that claims loopback", { "x-forwarded-for": "127.0.0.1" }, "10.0.0.1", [], false],
    ["through a local undeclared proxy", { "x-forwarded-for": "127.0.0.1" }, "127.0.0.1", [], false],
    [
      "through a trusted proxy, under a foreign name",
      { "x-forwarded-for": "127.0.0.1", host: "evil.example" },
      "::1",
      ["::1"],
      false,
    ],
    ["directly, with another machine as proxy", {}, "127.0.0.1", ["10.0.0.1"], true],
  ];
  for (const [why, headers, from, trusted, local] of proxied) {
    it(`${local ? "may come" : "does not come"} ${why}`, () =>
      assert.equal(isLocal(peer(headers, from, trusted)), local));
  }
});

describe("the origin of a page", () => {
  const remote = "10.0.0.9";
  interface Row {
    readonly origin?: string;
    readonly headers?: IncomingHttpHeaders;
    readonly from?: string;
    readonly list?: readonly string[];
    readonly required?: boolean;
  }
  const check = ({ origin, headers = {}, from = "127.0.0.1", list = [], required = false }: Row) =>
    originRefusal(peer({ ...headers, ...(origin === undefined ? {} : { origin }) }, from), required, {
      allowedOrigins: list,
    });

  const allowed: [why: string, row: Row][] = [
    ["none, from a client that is not a page", {}],
    ["none, from a remote client that is not a page", { from: remote }],
    ["localhost, on this machine", { origin: "http://localhost:5173" }],
    ["LOCALHOST, on this machine", { origin: "http://LOCALHOST" }],
    ["127.9.9.9, on this machine, any port", { origin: "https://127.9.9.9:1", required: true }],
    ["::1, on this machine", { origin: "http://[::1]:8080" }],
    [
      "one on the list",
      { origin: "https://panel.example", from: remote, list: ["https://panel.example"], required: true },
    ],
    [
      "one on the list, in another case",
      { origin: "https://PANEL.example", from: remote, list: ["https://Panel.Example"] },
    ],
    [
      "one on the list, through a proxy",
      { origin: "https://panel.example", headers: { "x-forwarded-for": "1.2.3.4" }, list: ["https://panel.example"] },
    ],
    ["any, when the list says so", { origin: "https://other.example", from: remote, list: ["https://x", "*"] }],
  ];
  for (const [why, row] of allowed) it(`may be ${why}`, () => assert.equal(check(row), undefined));

  const refused: [why: string, row: Row][] = [
    ["missing, where one is required", { required: true }],
    ["missing, where one is required and any is allowed", { required: true, list: ["*"] }],
    ["null", { origin: "null", required: true }],
    ["null, even when any is allowed", { origin: "null", list: ["*"] }],
    ["no origin at all", { origin: "not an origin", list: ["*"] }],
    ["empty", { origin: "", list: ["*"] }],
    ["not listed", { origin: "https://evil.example", required: true }],
    ["not listed, from a client that needs none", { origin: "https://evil.example" }],
    ["not listed, with the beginning of a listed one", { origin: "http://localhost.evil.example" }],
    ["not listed, with a familiar user", { origin: "http://localhost@evil.example" }],
    ["no origin: it has a user", { origin: "http://evil@localhost", list: ["*"] }],
    ["no origin: it has a path", { origin: "http://localhost/x", list: ["*"] }],
    ["no origin: it has a query", { origin: "http://localhost?x", list: ["*"] }],
    ["a loopback page through a proxy that sends only via", { origin: "http://localhost", headers: { via: "1.1 p" } }],
    [
      "a loopback page through a network's proxy",
      { origin: "http://localhost", headers: { "cf-connecting-ip": "1.2.3.4" } },
    ],
    ["a loopback page of a remote machine", { origin: "http://localhost:5173", from: remote }],
    ["a loopback page through a proxy", { origin: "http://localhost", headers: { "x-forwarded-for": "1.2.3.4" } }],
    [
      "a loopback page that uses another host name",
      { origin: "http://localhost", headers: { host: "rebound.example" } },
    ],
    ["another scheme than the one on the list", { origin: "http://panel.example", list: ["https://panel.example"] }],
    [
      "another port than the one on the list",
      { origin: "https://panel.example:8443", list: ["https://panel.example"] },
    ],
    ["a part of the one on the list", { origin: "https://panel", list: ["https://panel.example"] }],
    ["a page on a tailnet name, which is not loopback", { origin: "https://foo.ts.net" }],
    ["one on a list of blanks", { origin: "https://panel.example", list: ["", " "] }],
    ["two at once", { origin: "https://panel.example, https://panel.example", list: ["*"] }],
    ["very long", { origin: `https://${"a".repeat(3_000)}.example`, list: ["*"] }],
  ];
  for (const [why, row] of refused) {
    it(`may not be ${why}`, () => assert.match(String(check(row)), /^origin not allowed \(/));
  }

  it("that is refused gets an error that names the setting", () => {
    assert.equal(
      check({ origin: "https://panel.example" }),
      "origin not allowed (add it to gateway.controlUi.allowedOrigins)",
    );
  });

  const policy = (more: Partial<OriginPolicy> = {}): OriginPolicy => ({ allowedOrigins: [], ...more });
  const byHost = policy({ hostHeaderFallback: true });
  const stranger = { origin: "https://evil.example", "x-forwarded-for": "1.2.3.4" };

  it("is not checked behind a proxy in modes where clients must know a secret", () => {
    assert.deepEqual(checkOrigin(peer(stranger), false, policy({ ambient: false })), { ok: true });
    const direct = peer({ origin: stranger.origin });
    assert.equal(checkOrigin(direct, false, policy({ ambient: false })).ok, false);
  });

  it("is checked behind a proxy in modes without a secret, and always from web clients [H7.3.1 H7.3.2 H7.3.3]", () => {
    assert.equal(checkOrigin(peer(stranger), false, policy({ ambient: true })).ok, false);
    assert.equal(checkOrigin(peer(stranger), false, policy()).ok, false);
    assert.equal(checkOrigin(peer(stranger), true, policy({ ambient: false })).ok, false);
  });

  const matched: [rule: string, headers: IncomingHttpHeaders, from: string, policy: OriginPolicy][] = [
    ["allowlist", { origin: "https://Panel.example" }, remote, policy({ allowedOrigins: [" https://panel.example "] })],
    [
      "allowlist",
      { origin: "http://localhost:1" },
      "127.0.0.1",
      policy({ allowedOrigins: ["*"], hostHeaderFallback: true }),
    ],
    ["host-header-fallback", { origin: "https://gw.example", host: "GW.example" }, remote, byHost],
    ["host-header-fallback", { origin: "http://gw.example:8080", host: "gw.example:8080" }, remote, byHost],
    ["host-header-fallback", { origin: "https://gw.example", host: "gw.example:443" }, remote, byHost],
    ["host-header-fallback", { origin: "http://localhost", host: "localhost" }, "127.0.0.1", byHost],
    ["local-loopback", { origin: "http://localhost:5173", host: "127.0.0.1:1" }, "127.0.0.1", byHost],
  ];
  for (const [matchedBy, headers, from, rules] of matched) {
    it(`${headers.origin} to ${headers.host ?? "127.0.0.1"} is admitted by ${matchedBy}`, () =>
      assert.deepEqual(checkOrigin(peer(headers, from), true, rules), { ok: true, matchedBy }));
  }

  const notTheHost: [origin: string, host: string][] = [
    ["https://gw.example", "gw.example:8080"],
    ["https://gw.example:8080", "gw.example"],
    ["http://gw.example", "gw.example:443"],
    ["https://evil.example", "gw.example"],
    ["https://gw.example", "evil@gw.example"],
    ["file:///x", ""],
  ];
  for (const [origin, host] of notTheHost) {
    it(`${origin} is not the host ${host || "of nothing"}`, () =>
      assert.equal(checkOrigin(peer({ origin, host }, remote), true, byHost).ok, false));
  }

  it("that equals the host does not help without the flag", () => {
    const same = peer({ origin: "https://gw.example", host: "gw.example" }, remote);
    assert.equal(checkOrigin(same, true, policy()).ok, false);
  });
});
