/** Every check of mode `trusted-proxy`, in its order. Spec: http/auth.md §5. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { assert as property$, constantFrom, property, record, string, subarray } from "fast-check";
import { proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";
import { checkTrustedProxy, type TrustedProxySettings } from "../../../host/auth/trusted-proxy.ts";

const trustedProxies = ["10.0.0.0/24"];
const base: TrustedProxySettings = {
  userHeader: "X-User",
  requiredHeaders: ["X-Sso", "x-two"],
  allowUsers: ["alice"],
  trustedProxies,
};
const good = { "x-user": "alice", "x-sso": "1", "x-two": "2" };
const peer = (headers: IncomingHttpHeaders = good, from = "10.0.0.9") =>
  resolvePeer(from, headers, proxyPolicy({ trustedProxies }));
const check = (changes: Partial<TrustedProxySettings> = {}, from = peer()) =>
  checkTrustedProxy(from, { trustedProxy: { ...base, ...changes } });

describe("a trusted proxy [W7.13 W7.14 W7.15 H1.12 H5.1 H5.2 H5.3 H5.4 H5.5 H5.6]", () => {
  const accepted: [why: string, user: string, headers: IncomingHttpHeaders, changes?: Partial<TrustedProxySettings>][] =
    [
      ["names the user", "alice", good],
      ["with surrounding blanks", "alice", { ...good, "x-user": "  alice\t" }],
      ["more than once: the first counts", "alice", { ...good, "x-user": ["alice", "bob"] }],
      ["every user without a list", "bob", { ...good, "x-user": "bob" }, { allowUsers: [] }],
      ["without required headers", "alice", { "x-user": "alice" }, { requiredHeaders: [] }],
      ["a name with commas", "CN=a, O=b", { ...good, "x-user": "CN=a, O=b" }, { allowUsers: ["CN=a, O=b"] }],
      ["in a header named in any case", "alice", good, { userHeader: " x-USER " }],
    ];
  for (const [why, user, headers, changes] of accepted) {
    it(`${why}: ${user}`, () => assert.deepEqual(check(changes, peer(headers)), { ok: true, user }));
  }

  const refused: [reason: string, why: string, result: ReturnType<typeof check>][] = [
    ["config_missing", "no settings", checkTrustedProxy(peer(), {})],
    ["config_missing", "a blank header name", check({ userHeader: " " })],
    ["no_proxies_configured", "an empty list", check({ trustedProxies: [] })],
    ["no_request", "no request", checkTrustedProxy(undefined, { trustedProxy: base })],
    ["untrusted_source", "another peer", check({}, peer(good, "10.0.1.1"))],
    ["untrusted_source", "this machine", check({}, peer(good, "127.0.0.1"))],
    ["untrusted_source", "a peer without address", check({}, peer(good, ""))],
    [
      "untrusted_source",
      "an untrusted peer that forwards for the proxy",
      check({}, peer({ ...good, "x-forwarded-for": "10.0.0.9" }, "9.9.9.9")),
    ],
    ["missing_header_x-sso", "the first required header absent", check({}, peer({ "x-user": "alice", "x-two": "2" }))],
    ["missing_header_x-sso", "a blank required header", check({}, peer({ ...good, "x-sso": " " }))],
    ["missing_header_x-two", "the second required header absent", check({}, peer({ "x-user": "alice", "x-sso": "1" }))],
    ["missing_header_", "a required header without name", check({ requiredHeaders: [""] })],
    ["missing_header_constructor", "a name that every object has", check({ requiredHeaders: ["constructor"] })],
    ["user_missing", "no user header", check({}, peer({ "x-sso": "1", "x-two": "2" }))],
    ["user_missing", "a blank user", check({}, peer({ ...good, "x-user": " " }))],
    ["user_missing", "a blank first user", check({}, peer({ ...good, "x-user": ["", "alice"] }))],
    ["user_missing", "a name that is not a header", check({ userHeader: "__proto__" })],
    ["user_not_allowed", "another user", check({}, peer({ ...good, "x-user": "bob" }))],
    ["user_not_allowed", "another case", check({}, peer({ ...good, "x-user": "Alice" }))],
    ["user_not_allowed", "two users that were joined", check({}, peer({ ...good, "x-user": "alice, bob" }))],
    ["user_not_allowed", "a list with a blank entry", check({ allowUsers: [""] })],
    ["user_not_allowed", "a star, which is a name", check({ allowUsers: ["*"] })],
    ["user_not_allowed", "control characters", check({ allowUsers: [] }, peer({ ...good, "x-user": "ali\u0007ce" }))],
    ["user_not_allowed", "invisible characters", check({ allowUsers: [] }, peer({ ...good, "x-user": "ali\u00adce" }))],
    ["user_not_allowed", "a very long name", check({ allowUsers: [] }, peer({ ...good, "x-user": "a".repeat(257) }))],
  ];
  for (const [reason, why, result] of refused) {
    it(`trusted_proxy_${reason}: ${why}`, () =>
      assert.deepEqual(result, { ok: false, reason: `trusted_proxy_${reason}` }));
  }

  it("is refused for the first row that applies, regardless of other errors [H5.7]", () => {
    const stranger = peer({}, "9.9.9.9");
    const reasons = [
      checkTrustedProxy(stranger, {}),
      check({ trustedProxies: [] }, stranger),
      check({}, stranger),
      check({}, peer({})),
      check({ requiredHeaders: [] }, peer({})),
      check({ requiredHeaders: [] }, peer({ "x-user": "bob" })),
    ].map((result) => (result.ok ? "ok" : result.reason.replace("trusted_proxy_", "")));
    assert.deepEqual(reasons, [
      "config_missing",
      "no_proxies_configured",
      "untrusted_source",
      "missing_header_x-sso",
      "user_missing",
      "user_not_allowed",
    ]);
  });

  it("never admits a user who is not on the list, or a client that does not come through it", () => {
    const users = subarray(["alice", "bob", "*", " "], { minLength: 1 });
    const row = record({
      user: string(),
      allowUsers: users,
      from: constantFrom("10.0.0.1", "10.0.1.1", "127.0.0.1", ""),
    });
    property$(
      property(row, ({ user, allowUsers, from }) => {
        const result = check({ allowUsers }, peer({ ...good, "x-user": user }, from));
        if (!result.ok) return;
        assert.ok(allowUsers.includes(result.user) && from === "10.0.0.1");
      }),
    );
  });
});
