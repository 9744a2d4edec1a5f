import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AuthOverrides, type AuthSettings, resolveAuth, StartupRefusal } from "../../../host/auth/mode.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";

type Auth = NonNullable<GatewaySection["auth"]>;
type Env = Record<string, string | undefined>;

const generated = "generated-token";
const resolve = (auth: Auth | undefined, env: Env = {}): AuthSettings =>
  resolveAuth(auth === undefined ? {} : { auth }, env, () => generated);

describe("the overrides of a start", () => {
  const section = { auth: { mode: "password", token: "t", password: "p" } } as const;
  const never = () => assert.fail("there is one");

  it("take precedence over the configuration, key by key [H2.3]", () => {
    const resolve = (overrides: AuthOverrides) => resolveAuth(section, {}, never, overrides);
    assert.deepEqual(resolve({ password: "mine" }), { mode: "password", password: "mine" });
    assert.deepEqual(resolve({ mode: "token" }), { mode: "token", token: "t" });
    assert.deepEqual(resolve({ mode: "token", token: " mine " }), { mode: "token", token: "mine" });
    assert.deepEqual(resolve({ mode: "none" }), { mode: "none" });
  });

  it("are ignored when blank", () => {
    assert.deepEqual(resolveAuth(section, {}, never, { password: " " }), { mode: "password", password: "p" });
  });
});

describe("how clients authenticate", () => {
  const rows: [why: string, auth: Auth | undefined, env: Env, settings: AuthSettings][] = [
    ["nothing is configured", undefined, {}, { mode: "token", token: generated }],
    ["an empty section", {}, {}, { mode: "token", token: generated }],
    ["a token", { token: "t" }, {}, { mode: "token", token: "t" }],
    ["a token in the environment [H2.5]", {}, { SVC_GATEWAY_TOKEN: "e" }, { mode: "token", token: "e" }],
    ["both: the configuration wins [H2.1]", { token: "t" }, { SVC_GATEWAY_TOKEN: "e" }, { mode: "token", token: "t" }],
    ["a password", { password: "p" }, {}, { mode: "password", password: "p" }],
    ["a password in the environment", {}, { SVC_GATEWAY_PASSWORD: "e" }, { mode: "password", password: "e" }],
    ["a password wins over a token [H2.5]", { token: "t", password: "p" }, {}, { mode: "password", password: "p" }],
    [
      "an explicit mode wins over a password [H2.5]",
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
    ["surrounding blanks", { token: " t\n" }, {}, { mode: "token", token: "t" }],
  ];
  for (const [why, auth, env, settings] of rows) {
    it(`${why}: ${settings.mode}`, () => assert.deepEqual(resolve(auth, env), settings));
  }

  for (const empty of ["", " ", "\t\n"]) {
    const name = JSON.stringify(empty);
    it(`${name} counts as absent, in the file and in the environment`, () => {
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

  it("generates a token only when it is needed", () => {
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

describe("mode trusted-proxy", () => {
  const never = () => assert.fail("a token was made");
  const section = (auth: Auth, trustedProxies?: string[]): GatewaySection => ({
    auth: { mode: "trusted-proxy", ...auth },
    ...(trustedProxies ? { trustedProxies } : {}),
  });

  const LOCAL =
    /contains an address of this machine.*set gateway\.auth\.trustedProxy\.secret to the output of `openssl rand -hex 24`/;

  it("accepts an address of this machine with a secret", () => {
    const secret = "proxy-secret-of-this-test";
    const { trustedProxy } = resolveAuth(section({ trustedProxy: { userHeader: "x", secret } }, ["::1"]), {}, never);
    assert.equal(trustedProxy?.secret, secret);
  });

  it("uses its header, its lists and its proxies, and no token or password", () => {
    const trustedProxy = { userHeader: " X-User ", requiredHeaders: ["x-sso"], allowUsers: ["alice", " "] };
    const settings = resolveAuth(section({ trustedProxy, token: "t", password: "p" }, ["10.0.0.1"]), {}, never);
    assert.deepEqual(settings, {
      mode: "trusted-proxy",
      trustedProxy: { ...trustedProxy, userHeader: "X-User", trustedProxies: ["10.0.0.1"] },
    });
    const minimal = resolveAuth(section({ trustedProxy: { userHeader: "x" } }, ["10.0.0.0/8", "junk"]), {}, never);
    assert.deepEqual(minimal.trustedProxy, {
      userHeader: "x",
      requiredHeaders: [],
      allowUsers: [],
      trustedProxies: ["10.0.0.0/8", "junk"],
    });
  });

  const refusals: [why: string, section: GatewaySection, message: RegExp][] = [
    [
      "missing trustedProxy object",
      section({}, ["10.0.0.1"]),
      /trustedProxy is not set; set gateway\.auth\.trustedProxy\.userHeader/,
    ],
    [
      "blank userHeader [H2.9]",
      section({ trustedProxy: { userHeader: " " } }, ["10.0.0.1"]),
      /userHeader is blank; set/,
    ],
    [
      "trustedProxies absent",
      section({ trustedProxy: { userHeader: "x" } }),
      /gateway\.trustedProxies is empty; list the proxy's addresses/,
    ],
    ["trustedProxies empty", section({ trustedProxy: { userHeader: "x" } }, []), /gateway\.trustedProxies is empty/],
    ["trustedProxies blank", section({ trustedProxy: { userHeader: "x" } }, [" "]), /has no valid entry \( \)/],
    ["an address of this machine", section({ trustedProxy: { userHeader: "x" } }, ["127.0.0.1"]), LOCAL],
    ["another one", section({ trustedProxy: { userHeader: "x" } }, ["10.0.0.1", " 127.8.9.1"]), LOCAL],
    ["as IPv6", section({ trustedProxy: { userHeader: "x" } }, ["::1"]), LOCAL],
    ["mapped", section({ trustedProxy: { userHeader: "x" } }, ["::ffff:127.0.0.1"]), LOCAL],
    ["a network that contains it", section({ trustedProxy: { userHeader: "x" } }, ["0.0.0.0/0"]), LOCAL],
    ["every network", section({ trustedProxy: { userHeader: "x" } }, ["::/0"]), LOCAL],
    ["a blank secret", section({ trustedProxy: { userHeader: "x", secret: " " } }, ["127.0.0.1"]), LOCAL],
    ["trustedProxies a star", section({ trustedProxy: { userHeader: "x" } }, ["*"]), /has no valid entry \(\*\); list/],
  ];
  for (const [why, refused, message] of refusals) {
    it(`${why}: startup error`, () =>
      assert.throws(() => resolveAuth(refused, {}, never), { name: "StartupRefusal", message }));
  }

  it("is never chosen by default", () => {
    const unchosen = { auth: { trustedProxy: { userHeader: "x" } }, trustedProxies: ["10.0.0.1"] };
    assert.equal(resolveAuth(unchosen, {}, () => generated).mode, "token");
  });
});

describe("environment variables of an alias", () => {
  const env = { ACME_GATEWAY_TOKEN: "a", MY_APP_GATEWAY_PASSWORD: "m" };
  const rows: [why: string, section: GatewaySection, env: Env, settings: AuthSettings][] = [
    ["is not read without an alias [H2.4]", {}, env, { mode: "token", token: generated }],
    ["is read with one", { aliases: ["acme"] }, env, { mode: "token", token: "a" }],
    ["is read in capitals, with underscores", { aliases: ["my-app"] }, env, { mode: "password", password: "m" }],
    [
      "comes after the SVC_ name",
      { aliases: ["acme"] },
      { ...env, SVC_GATEWAY_TOKEN: "s" },
      { mode: "token", token: "s" },
    ],
    ["comes after the configuration", { aliases: ["acme"], auth: { token: "t" } }, env, { mode: "token", token: "t" }],
    [
      "is read when the SVC_ one is blank",
      { aliases: ["acme"] },
      { ...env, SVC_GATEWAY_TOKEN: " " },
      { mode: "token", token: "a" },
    ],
    [
      "is read in the order of aliases",
      { aliases: ["b", "acme"] },
      { ...env, B_GATEWAY_TOKEN: "b" },
      { mode: "token", token: "b" },
    ],
  ];
  for (const [why, section, variables, settings] of rows) {
    it(why, () =>
      assert.deepEqual(
        resolveAuth(section, variables, () => generated),
        settings,
      ),
    );
  }
});
