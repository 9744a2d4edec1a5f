/** Spec: spec/README.md "product name in identifiers"; protocol/frames-and-connect.md §4. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { canonicalClientId, canonicalHeaders, environmentNames } from "../../../host/auth/aliases.ts";

describe("client ids", () => {
  for (const kind of ["control-ui", "macos", "ios", "android", "probe"]) {
    it(`acme-${kind} is svc-${kind}`, () => {
      assert.equal(canonicalClientId(`acme-${kind}`, ["other", "acme"]), `svc-${kind}`);
      assert.equal(canonicalClientId(`acme-${kind}`, []), `acme-${kind}`);
      assert.equal(canonicalClientId(`acme-${kind}`), `acme-${kind}`);
      assert.equal(canonicalClientId(`svc-${kind}`, ["acme"]), `svc-${kind}`);
    });
  }
  const same = [
    "cli",
    "webchat-ui",
    "gateway-client",
    "node-host",
    "acme-cli",
    "acme",
    "acme-",
    "ACME-control-ui",
    "acme-control-ui ",
    "xacme-control-ui",
    "acme-acme-control-ui",
    "",
  ];
  for (const id of same) it(`${id || "nothing"} stays`, () => assert.equal(canonicalClientId(id, ["acme"]), id));

  it("of a name with a dash", () => assert.equal(canonicalClientId("my-app-ios", ["my", "my-app"]), "svc-ios"));
});

describe("headers", () => {
  const rows: [why: string, headers: IncomingHttpHeaders, added: IncomingHttpHeaders][] = [
    ["readable under the svc name", { "x-acme-agent-id": "a" }, { "x-svc-agent-id": "a" }],
    ["several values", { "x-acme-a": ["1", "2"] }, { "x-svc-a": ["1", "2"] }],
    ["an explicit one wins", { "x-acme-a": "theirs", "x-svc-a": "ours" }, {}],
    ["an explicit empty one wins, too", { "x-acme-a": "theirs", "x-svc-a": "" }, {}],
    ["the longest name wins", { "x-acme-two-a": "1" }, { "x-svc-a": "1" }],
    ["of two the longer name wins", { "x-acme-a": "short", "x-acme-two-a": "long" }, { "x-svc-a": "long" }],
    ["in any order", { "x-acme-two-a": "long", "x-acme-a": "short" }, { "x-svc-a": "long" }],
    ["a name only", { "x-acme-": "1", "x-acme": "1" }, {}],
    ["another name", { "x-other-a": "1", "acme-a": "1", host: "x" }, {}],
    [
      "names that every object has",
      { "x-acme-__proto__": "1", "x-acme-constructor": "2" },
      { "x-svc-__proto__": "1", "x-svc-constructor": "2" },
    ],
  ];
  for (const [why, headers, added] of rows) {
    it(why, () => {
      const before = structuredClone(headers);
      assert.deepEqual(canonicalHeaders(headers, ["acme", "acme-two"]), { ...headers, ...added });
      assert.deepEqual(headers, before);
    });
  }

  it("are the same object when nothing is added", () => {
    const headers = { host: "x", "x-svc-a": "1" };
    assert.equal(canonicalHeaders(headers, ["acme"]), headers);
    assert.equal(canonicalHeaders(headers), headers);
  });
});

describe("environment variables", () => {
  it("are the SVC_ names first", () => {
    assert.deepEqual(environmentNames(["acme", "my-app"]), {
      token: ["SVC_GATEWAY_TOKEN", "ACME_GATEWAY_TOKEN", "MY_APP_GATEWAY_TOKEN"],
      password: ["SVC_GATEWAY_PASSWORD", "ACME_GATEWAY_PASSWORD", "MY_APP_GATEWAY_PASSWORD"],
    });
    assert.deepEqual(environmentNames(), { token: ["SVC_GATEWAY_TOKEN"], password: ["SVC_GATEWAY_PASSWORD"] });
  });
});
