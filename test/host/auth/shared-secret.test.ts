/** Spec: protocol/frames-and-connect.md §7, http/auth.md §4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConnectParams } from "@svc/sdk/protocol";
import type { AuthSettings } from "../../../host/auth/mode.ts";
import { type Peer, proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";
import { authDetailCode, bearerOf, checkShared, unauthorizedText } from "../../../host/auth/shared-secret.ts";

const token: AuthSettings = { mode: "token", token: "right" };
const password: AuthSettings = { mode: "password", password: "right" };
const none: AuthSettings = { mode: "none" };
const proxy: AuthSettings = {
  mode: "trusted-proxy",
  trustedProxy: { userHeader: "x-user", requiredHeaders: [], allowUsers: [], trustedProxies: ["10.0.0.1"] },
};
const alice = resolvePeer("10.0.0.1", { "x-user": "alice" }, proxyPolicy({ trustedProxies: ["10.0.0.1"] }));
const nobody = resolvePeer("10.0.0.1", {}, proxyPolicy({ trustedProxies: ["10.0.0.1"] }));

describe("the shared secret over WebSocket", () => {
  const rows: [why: string, settings: AuthSettings, auth: ConnectParams["auth"], outcome: true | string][] = [
    ["mode token, the token", token, { token: "right" }, true],
    ["mode token, surrounding blanks", token, { token: " right\n" }, true],
    ["mode token, a good token and a bad device token", token, { token: "right", deviceToken: "x" }, true],
    ["mode token, another", token, { token: "wrong" }, "token_mismatch"],
    ["mode token, another case", token, { token: "RIGHT" }, "token_mismatch"],
    ["mode token, the token as password", token, { password: "right" }, "token_missing"],
    ["mode token, the token as device token", token, { deviceToken: "right" }, "token_missing"],
    ["mode token without a token [W7.7]", { mode: "token" }, { token: "x" }, "token_missing_config"],
    ["mode password, the password", password, { password: "right" }, true],
    ["mode password, the password as token", password, { token: "right" }, true],
    ["mode password, surrounding blanks", password, { password: "\tright " }, true],
    ["mode password, another", password, { password: "wrong" }, "password_mismatch"],
    [
      "mode password, a wrong one next to the right one as token",
      password,
      { password: "wrong", token: "right" },
      "password_mismatch",
    ],
    ["mode password without a password [W7.10]", { mode: "password" }, { password: "x" }, "password_missing_config"],
    ["mode none, nothing", none, undefined, true],
    ["mode none, anything", none, { token: "x" }, true],
  ];
  for (const [why, settings, auth, outcome] of rows) {
    it(`${why}: ${String(outcome)}`, () => {
      const expected = outcome === true ? { ok: true } : { ok: false, reason: outcome };
      assert.deepEqual(checkShared(settings, auth), expected);
    });
  }

  const empties: [why: string, auth: ConnectParams["auth"]][] = [
    ["no auth", undefined],
    ["an empty auth", {}],
    ["empty texts", { token: "", password: "", deviceToken: "" }],
    ["blank texts", { token: " ", password: "\t", deviceToken: "\n" }],
  ];
  for (const [why, auth] of empties) {
    it(`${why} is a missing credential [W7.9]`, () => {
      assert.deepEqual(checkShared(token, auth), { ok: false, reason: "token_missing" });
      assert.deepEqual(checkShared(password, auth), { ok: false, reason: "password_missing" });
    });
  }

  it("mode trusted-proxy, the user the proxy names and no other credential", () => {
    assert.deepEqual(checkShared(proxy, undefined, alice), { ok: true, user: "alice" });
    assert.deepEqual(checkShared(proxy, { token: "right" }, nobody), {
      ok: false,
      reason: "trusted_proxy_user_missing",
    });
    assert.deepEqual(checkShared(proxy, { token: "right" }), { ok: false, reason: "trusted_proxy_no_request" });
  });

  for (const blank of ["", " ", "\t\n"]) {
    it(`a configured secret of ${JSON.stringify(blank)} counts as unset, and nothing matches it`, () => {
      for (const given of [undefined, "", " ", blank, "x"]) {
        const auth = given === undefined ? undefined : { token: given, password: given };
        const missing = (mode: string) => ({ ok: false, reason: `${mode}_missing_config` });
        assert.deepEqual(checkShared({ mode: "token", token: blank }, auth), missing("token"));
        assert.deepEqual(checkShared({ mode: "password", password: blank }, auth), missing("password"));
      }
    });
  }

  it("a very long credential is wrong", () => {
    const endless = "x".repeat(100_000);
    assert.deepEqual(checkShared(token, { token: endless }), { ok: false, reason: "token_mismatch" });
    assert.deepEqual(checkShared({ mode: "token", token: endless }, { token: endless }), { ok: true });
  });

  it("with a blank password the token is checked", () => {
    assert.deepEqual(checkShared(password, { password: " ", token: "right" }), { ok: true });
  });
});

describe("the shared secret over HTTP", () => {
  /** The same value is sent both as token and as password. */
  function overHttp(settings: AuthSettings, header: string | undefined, peer?: Peer) {
    const bearer = bearerOf(header);
    return checkShared(settings, bearer === undefined ? undefined : { token: bearer, password: bearer }, peer);
  }

  const rows: [header: string | undefined, ok: boolean][] = [
    ["Bearer right", true],
    ["bearer right", true],
    ["BEARER right", true],
    ["bEaReR   right  ", true],
    ["Bearer wrong", false],
    ["Bearer right x", false],
    ["Bearer", false],
    ["Bearer ", false],
    ["Bearerright", false],
    ["Basic right", false],
    ["Token right", false],
    ["right", false],
    ["x Bearer right", false],
    ["", false],
    [undefined, false],
  ];
  for (const [header, ok] of rows) {
    it(`${JSON.stringify(header) ?? "no header"} is ${ok ? "" : "not "}enough`, () => {
      assert.equal(overHttp(token, header).ok, ok);
      assert.equal(overHttp(password, header).ok, ok);
      assert.equal(overHttp(none, header).ok, true);
    });
  }

  it("never matches a secret that is not set", () => {
    for (const header of ["Bearer ", "Bearer undefined", undefined]) {
      for (const settings of [{}, { token: "" }, { token: " " }])
        assert.equal(overHttp({ mode: "token", ...settings }, header).ok, false);
    }
  });

  it("is not read in mode trusted-proxy, which names the user", () => {
    assert.deepEqual(overHttp(proxy, "Bearer wrong", alice), { ok: true, user: "alice" });
    assert.equal(overHttp(proxy, "Bearer right", nobody).ok, false);
    assert.equal(overHttp(proxy, "Bearer right").ok, false);
  });

  it("is the text after the scheme, without blanks; only blanks count as missing", () => {
    assert.deepEqual(["Bearer  a b ", "Bearer \t ", "Basic a", undefined].map(bearerOf), [
      "a b",
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the message of a refusal [W7.34 W7.35 W7.36 H8.4]", () => {
  const rows: [reason: string | undefined, code: string, next: RegExp][] = [
    [undefined, "AUTH_REQUIRED", /--token or --password/],
    ["token_missing", "AUTH_TOKEN_MISSING", /--token.*SVC_GATEWAY_TOKEN/],
    ["token_mismatch", "AUTH_TOKEN_MISMATCH", /gateway\.auth\.token/],
    ["token_missing_config", "AUTH_TOKEN_NOT_CONFIGURED", /set gateway\.auth\.token/],
    ["password_missing", "AUTH_PASSWORD_MISSING", /--password.*SVC_GATEWAY_PASSWORD/],
    ["password_mismatch", "AUTH_PASSWORD_MISMATCH", /gateway\.auth\.password/],
    ["password_missing_config", "AUTH_PASSWORD_NOT_CONFIGURED", /set gateway\.auth\.password/],
    ["device_token_mismatch", "AUTH_DEVICE_TOKEN_MISMATCH", /device token mismatch/],
    ["rate_limited", "AUTH_RATE_LIMITED", /too many failed attempts \(wait/],
    ["trusted_proxy_config_missing", "AUTH_UNAUTHORIZED", /set gateway\.auth\.trustedProxy\.userHeader/],
    ["trusted_proxy_no_proxies_configured", "AUTH_UNAUTHORIZED", /set gateway\.trustedProxies/],
    ["trusted_proxy_no_request", "AUTH_UNAUTHORIZED", /connect through the proxy/],
    ["trusted_proxy_untrusted_source", "AUTH_UNAUTHORIZED", /connect through the proxy/],
    ["trusted_proxy_missing_header_x-sso", "AUTH_UNAUTHORIZED", /the header x-sso \(log in/],
    ["trusted_proxy_user_missing", "AUTH_UNAUTHORIZED", /named no user/],
    ["trusted_proxy_user_not_allowed", "AUTH_UNAUTHORIZED", /allowUsers/],
    ["unauthorized", "AUTH_UNAUTHORIZED", /unauthorized/],
    ["constructor", "AUTH_UNAUTHORIZED", /constructor/],
    ["something_new", "AUTH_UNAUTHORIZED", /something new/],
  ];
  for (const [reason, code, next] of rows) {
    it(`${reason} is ${code}, with a message that starts with the word clients match`, () => {
      assert.equal(authDetailCode(reason), code);
      assert.match(unauthorizedText(reason), /^unauthorized: /);
      assert.match(unauthorizedText(reason), next);
    });
  }
});
