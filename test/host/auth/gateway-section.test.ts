/** The host's configuration: every leaf has a description, and no empty value grants access. Spec: http/auth.md §1. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import { proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";
import { checkOrigin } from "../../../host/auth/locality.ts";
import { resolveAuth } from "../../../host/auth/mode.ts";
import { originPolicy } from "../../../host/auth/origins.ts";
import { checkShared } from "../../../host/auth/shared-secret.ts";
import { GatewaySection, HOST_SECTIONS } from "../../../host/config/host-schema.ts";

interface Node {
  readonly type?: string;
  readonly properties?: Record<string, Node>;
  readonly patternProperties?: Record<string, Node>;
  readonly additionalProperties?: unknown;
  readonly description?: string;
  readonly reload?: string;
}

function leaves(node: Node, path: string): [path: string, leaf: Node][] {
  const children = Object.entries({ ...node.properties, ...node.patternProperties });
  if (node.type !== "object") return [[path, node]];
  return children.flatMap(([key, child]) => leaves(child, `${path}.${key.startsWith("^") ? "*" : key}`));
}

const all = Object.entries(HOST_SECTIONS).flatMap(([name, schema]) => leaves(schema as unknown as Node, name));

describe("every key of the host", () => {
  for (const [path, leaf] of all) {
    it(`${path} has a description, which states how a change takes effect`, () => {
      assert.ok((leaf.description ?? "").length > 10);
      const restarts = /^gateway\.(port|bind|customBindHost|tls\.enabled)$/.test(path);
      assert.equal(leaf.reload, restarts ? "restart" : "hot");
    });
  }
  it("is found at any depth", () => {
    const paths = all.map(([path]) => path);
    for (const path of [
      "gateway.port",
      "gateway.auth.rateLimit.maxAttempts",
      "plugins.entries.*.enabled",
      "logging.level",
    ])
      assert.ok(paths.includes(path), path);
  });
});

/** Puts a value at a dotted path. */
function at(path: string, value: unknown): unknown {
  return path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

describe("values [H1.1 H1.6 H1.7 H1.8 H1.9 H1.15]", () => {
  const rows: [path: string, valid: unknown[], invalid: unknown[]][] = [
    ["port", [0, 1, 18_789, 65_535], [-1, 65_536, 1.5, "1"]],
    ["bind", ["loopback", "lan", "tailnet", "auto", "custom"], ["0.0.0.0", "all"]],
    ["customBindHost", ["10.0.0.1"], [1]],
    ["auth.mode", ["none", "token", "password", "trusted-proxy"], ["tailscale", "TOKEN"]],
    ["auth.rateLimit.maxAttempts", [1, 1_000], [0, -1, 1_001, 1.5, "3"]],
    ["auth.rateLimit.windowMs", [1, 86_400_000], [0, -1, 86_400_001]],
    ["auth.rateLimit.lockoutMs", [1, 86_400_000], [0, -1, 86_400_001]],
    ["auth.rateLimit.exemptLoopback", [true, false], ["yes", 1]],
    [
      "auth.trustedProxy",
      [{ userHeader: "X-User" }],
      [{ requiredHeaders: [] }, { userHeader: "x y" }, { userHeader: "x:" }],
    ],
    ["auth.allowTailscale", [], [true, false]],
    ["tailscale", [], [{ mode: "serve" }]],
    ["trustedProxies", [["10.0.0.1"], []], ["10.0.0.1", [1]]],
    [
      "aliases",
      [["acme"], ["my-app", "a1"], []],
      [["svc"], ["Acme"], ["a"], ["1a"], ["a_b"], ["acme", "acme"], [`a${"b".repeat(32)}`]],
    ],
    ["reload.mode", ["hybrid", "hot", "restart", "off"], ["on"]],
    ["reload.debounceMs", [0, 300, 60_000], [-1, 60_001, 0.5]],
    ["controlUi.allowedOrigins", [["*"], ["https://a"]], ["*", [""]]],
    ["unknown", [], [1]],
    ["auth.unknown", [], [1]],
    ["auth.rateLimit.unknown", [], [1]],
    ["controlUi.unknown", [], [1]],
  ];
  for (const [path, valid, invalid] of rows) {
    for (const value of valid)
      it(`${path} may be ${JSON.stringify(value)}`, () => assert.ok(matches(GatewaySection, at(path, value))));
    for (const value of invalid)
      it(`${path} may not be ${JSON.stringify(value)}`, () => assert.ok(!matches(GatewaySection, at(path, value))));
  }
});

describe("empty values [H1.3 H1.10 H1.11]", () => {
  const EMPTY: Record<string, unknown> = {
    null: null,
    '""': "",
    '" "': " ",
    "[]": [],
    "{}": {},
    '"*"': "*",
    '[""]': [""],
    '[" "]': [" "],
    '["*"]': ["*"],
  };
  /** The values that the schema accepts; all others stop a start or a reload, naming the key. */
  const accepted: [path: string, values: string[]][] = [
    ["bind", []],
    ["customBindHost", ['" "', '"*"']],
    ["auth", ["{}"]],
    ["auth.mode", []],
    ["auth.token", ['""', '" "', '"*"']],
    ["auth.password", ['""', '" "', '"*"']],
    ["auth.rateLimit", ["{}"]],
    ["auth.rateLimit.maxAttempts", []],
    ["auth.rateLimit.windowMs", []],
    ["auth.rateLimit.lockoutMs", []],
    ["auth.rateLimit.exemptLoopback", []],
    ["auth.trustedProxy", []],
    ["auth.trustedProxy.userHeader", ['"*"']],
    ["trustedProxies", ["[]", '[" "]', '["*"]']],
    ["allowRealIpFallback", []],
    ["controlUi", ["{}"]],
    ["controlUi.enabled", []],
    ["controlUi.allowedOrigins", ["[]", '[" "]', '["*"]']],
    ["controlUi.dangerouslyAllowHostHeaderOriginFallback", []],
    ["controlUi.allowInsecureAuth", []],
    ["controlUi.dangerouslyDisableDeviceAuth", []],
    ["aliases", ["[]"]],
    ["reload", ["{}"]],
  ];
  for (const [path, values] of accepted) {
    for (const [name, value] of Object.entries(EMPTY)) {
      const pass = values.includes(name);
      it(`${path} ${name} is ${pass ? "accepted" : "refused by the schema"}`, () =>
        assert.equal(matches(GatewaySection, at(path, value)), pass));
    }
  }
  for (const [path, values] of [
    ["requiredHeaders", ["[]", '["*"]']],
    ["allowUsers", ["[]", '[" "]', '["*"]']],
  ] as const) {
    for (const [name, value] of Object.entries(EMPTY)) {
      const pass = (values as readonly string[]).includes(name);
      it(`auth.trustedProxy.${path} ${name} is ${pass ? "accepted" : "refused by the schema"}`, () =>
        assert.equal(matches(GatewaySection, at("auth.trustedProxy", { userHeader: "x", [path]: value })), pass));
    }
  }

  const secret = () => "generated";
  for (const value of [undefined, "", " "]) {
    it(`auth.token ${JSON.stringify(value)} is not a token: one is generated, and no empty value matches it`, () => {
      const settings = resolveAuth(
        { auth: { mode: "token", ...(value === undefined ? {} : { token: value }) } },
        {},
        secret,
      );
      assert.deepEqual(settings, { mode: "token", token: "generated" });
      for (const given of ["", " ", "*"]) assert.equal(checkShared(settings, { token: given }).ok, false);
    });
  }
  it('auth.token "*" is literally that token', () => {
    const settings = resolveAuth({ auth: { token: "*" } }, {}, secret);
    assert.deepEqual(
      [checkShared(settings, { token: "*" }).ok, checkShared(settings, { token: "x" }).ok],
      [true, false],
    );
  });
  for (const list of [undefined, [], ["*"], [" "]]) {
    it(`trustedProxies ${JSON.stringify(list)} trusts no proxy`, () => {
      const policy = proxyPolicy(list ? { trustedProxies: list } : {});
      assert.equal(resolvePeer("127.0.0.1", { "x-forwarded-for": "1.1.1.1" }, policy).viaProxy, false);
    });
  }
  for (const list of [undefined, [], [" "]]) {
    it(`controlUi.allowedOrigins ${JSON.stringify(list)} admits no foreign page`, () => {
      const policy = originPolicy({ controlUi: list ? { allowedOrigins: list } : {} }, 1, "token");
      const peer = resolvePeer("127.0.0.1", { host: "localhost", origin: "https://evil.example" }, proxyPolicy({}));
      assert.equal(checkOrigin(peer, true, policy).ok, false);
    });
  }
});
