/** Spec: protocol/frames-and-connect.md §7, http/auth.md §4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConnectParams } from "@svc/sdk";
import type { AuthSettings } from "../../../host/auth/mode.ts";
import { authDetailCode, checkBearer, checkShared, unauthorizedText } from "../../../host/auth/shared-secret.ts";

const token: AuthSettings = { mode: "token", token: "right" };
const password: AuthSettings = { mode: "password", password: "right" };
const none: AuthSettings = { mode: "none" };

describe("the shared secret over WebSocket", () => {
  const rows: [why: string, settings: AuthSettings, auth: ConnectParams["auth"], outcome: true | string][] = [
    ["mode token, the token", token, { token: "right" }, true],
    ["mode token, blanks around", token, { token: " right\n" }, true],
    ["mode token, a good token and a bad device token", token, { token: "right", deviceToken: "x" }, true],
    ["mode token, another", token, { token: "wrong" }, "token_mismatch"],
    ["mode token, another case", token, { token: "RIGHT" }, "token_mismatch"],
    ["mode token, the token as password", token, { password: "right" }, "token_missing"],
    ["mode token, the token as device token", token, { deviceToken: "right" }, "token_missing"],
    ["mode token that has none", { mode: "token" }, { token: "x" }, "token_missing_config"],
    ["mode password, the password", password, { password: "right" }, true],
    ["mode password, the password as token", password, { token: "right" }, true],
    ["mode password, blanks around", password, { password: "\tright " }, true],
    ["mode password, another", password, { password: "wrong" }, "password_mismatch"],
    [
      "mode password, a wrong one beside the right one as token",
      password,
      { password: "wrong", token: "right" },
      "password_mismatch",
    ],
    ["mode password that has none", { mode: "password" }, { password: "x" }, "password_missing_config"],
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
    it(`${why} is a missing credential`, () => {
      assert.deepEqual(checkShared(token, auth), { ok: false, reason: "token_missing" });
      assert.deepEqual(checkShared(password, auth), { ok: false, reason: "password_missing" });
    });
  }

  it("a blank password lets the token be looked at", () => {
    assert.deepEqual(checkShared(password, { password: " ", token: "right" }), { ok: true });
  });
});

describe("the shared secret over HTTP", () => {
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
      assert.equal(checkBearer(token, header), ok);
      assert.equal(checkBearer(password, header), ok);
      assert.equal(checkBearer(none, header), true);
    });
  }

  it("never matches a secret that is not set", () => {
    for (const header of ["Bearer ", "Bearer undefined", undefined]) {
      assert.equal(checkBearer({ mode: "token" }, header), false);
      assert.equal(checkBearer({ mode: "token", token: "" }, header), false);
    }
  });
});

describe("what a refusal says", () => {
  const rows: [reason: string, code: string, next: RegExp][] = [
    ["token_missing", "AUTH_TOKEN_MISSING", /--token.*SVC_GATEWAY_TOKEN/],
    ["token_mismatch", "AUTH_TOKEN_MISMATCH", /gateway\.auth\.token/],
    ["token_missing_config", "AUTH_TOKEN_NOT_CONFIGURED", /token missing config/],
    ["password_missing", "AUTH_PASSWORD_MISSING", /--password.*SVC_GATEWAY_PASSWORD/],
    ["password_mismatch", "AUTH_PASSWORD_MISMATCH", /gateway\.auth\.password/],
    ["password_missing_config", "AUTH_PASSWORD_NOT_CONFIGURED", /password missing config/],
    ["device_token_mismatch", "AUTH_DEVICE_TOKEN_MISMATCH", /device token mismatch/],
    ["something_new", "AUTH_UNAUTHORIZED", /something new/],
  ];
  for (const [reason, code, next] of rows) {
    it(`${reason} is ${code}, in a sentence that starts with the word clients look for`, () => {
      assert.equal(authDetailCode(reason), code);
      assert.match(unauthorizedText(reason), /^unauthorized: /);
      assert.match(unauthorizedText(reason), next);
    });
  }
});
