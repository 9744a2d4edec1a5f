import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AuthSettings, resolveAuth, resolveBind, StartupRefusal } from "../../../host/auth/mode.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";

type Auth = NonNullable<GatewaySection["auth"]>;
type Env = Record<string, string | undefined>;

const generated = "generated-token";
const resolve = (auth: Auth | undefined, env: Env = {}): AuthSettings =>
  resolveAuth(auth === undefined ? {} : { auth }, env, () => generated);

describe("how clients prove themselves", () => {
  const rows: [why: string, auth: Auth | undefined, env: Env, settings: AuthSettings][] = [
    ["nothing is said", undefined, {}, { mode: "token", token: generated }],
    ["an empty section", {}, {}, { mode: "token", token: generated }],
    ["a token", { token: "t" }, {}, { mode: "token", token: "t" }],
    ["a token in the environment", {}, { SVC_GATEWAY_TOKEN: "e" }, { mode: "token", token: "e" }],
    ["both: the configuration wins", { token: "t" }, { SVC_GATEWAY_TOKEN: "e" }, { mode: "token", token: "t" }],
    ["a password", { password: "p" }, {}, { mode: "password", password: "p" }],
    ["a password in the environment", {}, { SVC_GATEWAY_PASSWORD: "e" }, { mode: "password", password: "e" }],
    ["a password wins over a token", { token: "t", password: "p" }, {}, { mode: "password", password: "p" }],
    [
      "an explicit mode wins over a password",
      { mode: "token", token: "t", password: "p" },
      {},
      { mode: "token", token: "t" },
    ],
    ["mode none", { mode: "none", token: "t", password: "p" }, { SVC_GATEWAY_TOKEN: "e" }, { mode: "none" }],
    ["mode token without one", { mode: "token" }, {}, { mode: "token", token: generated }],
    [
      "mode password from the environment",
      { mode: "password" },
      { SVC_GATEWAY_PASSWORD: "e" },
      { mode: "password", password: "e" },
    ],
    ["blanks around", { token: " t\n" }, {}, { mode: "token", token: "t" }],
  ];
  for (const [why, auth, env, settings] of rows) {
    it(`${why}: ${settings.mode}`, () => assert.deepEqual(resolve(auth, env), settings));
  }

  for (const empty of ["", " ", "\t\n"]) {
    const name = JSON.stringify(empty);
    it(`${name} is as good as absent, in the file and in the environment`, () => {
      const fallback = { mode: "token", token: generated };
      assert.deepEqual(resolve({ token: empty }), fallback);
      assert.deepEqual(resolve({ password: empty }), fallback);
      assert.deepEqual(resolve({}, { SVC_GATEWAY_TOKEN: empty, SVC_GATEWAY_PASSWORD: empty }), fallback);
      assert.deepEqual(resolve({ token: empty }, { SVC_GATEWAY_TOKEN: "e" }), { mode: "token", token: "e" });
      assert.deepEqual(resolve({ password: empty }, { SVC_GATEWAY_PASSWORD: "e" }), {
        mode: "password",
        password: "e",
      });
      assert.throws(() => resolve({ mode: "password", password: empty }), StartupRefusal);
    });
  }

  it("makes a token only when it is needed", () => {
    const never = () => assert.fail("a token was made");
    resolveAuth({ auth: { token: "t" } }, {}, never);
    resolveAuth({ auth: { password: "p" } }, {}, never);
    resolveAuth({ auth: { mode: "none" } }, {}, never);
  });

  it("refuses mode password without a password, naming both places to set it", () => {
    assert.throws(
      () => resolve({ mode: "password", token: "t" }),
      (error: Error) =>
        /gateway\.auth\.password.*SVC_GATEWAY_PASSWORD/.test(error.message) && error instanceof StartupRefusal,
    );
  });
});

describe("where a gateway listens", () => {
  const token: AuthSettings = { mode: "token", token: "t" };
  const none: AuthSettings = { mode: "none" };

  const rows: [why: string, section: GatewaySection, auth: AuthSettings, addresses: string[]][] = [
    ["unless told otherwise", {}, token, ["127.0.0.1", "::1"]],
    ["loopback", { bind: "loopback" }, none, ["127.0.0.1", "::1"]],
    ["lan", { bind: "lan" }, token, ["0.0.0.0"]],
    ["custom", { bind: "custom", customBindHost: "10.0.0.5" }, token, ["10.0.0.5"]],
    ["custom and in truth loopback", { bind: "custom", customBindHost: "127.0.0.2" }, none, ["127.0.0.2"]],
    ["a host without bind", { customBindHost: "10.0.0.5" }, token, ["127.0.0.1", "::1"]],
  ];
  for (const [why, section, auth, addresses] of rows) {
    it(`${why}: ${addresses.join(" and ")}`, () => assert.deepEqual(resolveBind(section, auth), addresses));
  }

  const refusals: [why: string, section: GatewaySection, auth: AuthSettings, message: RegExp][] = [
    ["lan without authentication", { bind: "lan" }, none, /bind is "lan".*"none".*set mode "token"/],
    [
      "another address without authentication",
      { bind: "custom", customBindHost: "10.0.0.5" },
      none,
      /"custom".*"none"/,
    ],
    ["every address without authentication", { bind: "custom", customBindHost: "0.0.0.0" }, none, /"custom".*"none"/],
    ["custom without an address", { bind: "custom" }, token, /customBindHost is not set; set it to an IPv4 address/],
    ["custom with a blank address", { bind: "custom", customBindHost: " " }, token, /customBindHost is " "/],
    ["custom with a name", { bind: "custom", customBindHost: "localhost" }, token, /is "localhost"; set it to an IPv4/],
    ["custom with IPv6", { bind: "custom", customBindHost: "::1" }, token, /is "::1"; set it to an IPv4/],
  ];
  for (const [why, section, auth, message] of refusals) {
    it(`refuses ${why}`, () => {
      assert.throws(() => resolveBind(section, auth), { name: "StartupRefusal", message });
    });
  }
});
