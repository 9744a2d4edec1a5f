import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { accountsOf, hasKey, withKey } from "../../../plugins/models/asking/accounts.ts";

const entry = { api: "a", models: [] };
const baseUrl = "https://host.example/v1";

describe("the accounts of a provider", () => {
  it("is a single one with the provider's name, if it has one key or none", () => {
    assert.deepEqual(accountsOf("acme", entry), [{ name: "acme" }]);
    assert.deepEqual(accountsOf("acme", { ...entry, baseUrl, apiKey: "k" }), [{ name: "acme", baseUrl, apiKey: "k" }]);
  });

  it("inherit missing settings from the provider", () => {
    const own = { name: "b", apiKey: "2", baseUrl: "https://other.example", headers: { x: "own", y: "1" } };
    const accounts = accountsOf("acme", {
      ...entry,
      baseUrl,
      headers: { x: "shared" },
      accounts: [{ name: "a", apiKey: "1" }, own],
    });
    assert.deepEqual(accounts, [
      { name: "acme:a", baseUrl, apiKey: "1", headers: { x: "shared" } },
      { name: "acme:b", baseUrl: "https://other.example", apiKey: "2", headers: { x: "own", y: "1" } },
    ]);
  });

  const rows: [authHeader: boolean, headers: object][] = [
    [true, { authorization: "Bearer k" }],
    [false, { "x-api-key": "k" }],
  ];
  for (const [authHeader, headers] of rows) {
    it(`send the key as the header that authHeader ${authHeader} asks for`, () => {
      const [account] = accountsOf("acme", { ...entry, apiKey: "k", authHeader });
      assert.ok(account && hasKey(account));
      assert.deepEqual(withKey(account, "k"), { name: "acme", headers });
      assert.deepEqual(withKey(account, undefined), { name: "acme" });
    });
  }

  it("have a key only if one is configured", () => {
    assert.equal(hasKey({ name: "a", headers: { "x-team": "blue" } }), false);
  });
});
