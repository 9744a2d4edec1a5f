/** Places of secrets in the configuration. Spec: protocol/methods-secrets.md §2, http/config.md §3.1, §6. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";
import { interpretConfig } from "../../../host/config/file.ts";
import type { SectionOwner } from "../../../host/config/schema.ts";
import { createSecretPlaces } from "../../../host/config/secret-places.ts";

const Shop = Strict({
  key: Type.Optional(SecretSetting()),
  accounts: Type.Optional(Type.Array(Strict({ name: Type.String(), apiKey: SecretSetting() }))),
  stores: Type.Optional(Type.Record(Type.String(), Strict({ password: Type.Optional(SecretSetting()) }))),
  headers: Type.Optional(Type.Record(Type.String(), Type.String({ sensitive: true }))),
  pins: Type.Optional(Type.Array(Type.String({ sensitive: true }))),
  publicToken: Type.Optional(Type.String({ sensitive: false, default: "shown" })),
  serviceAccount: Type.Optional(Type.Object({ id: Type.String() }, { additionalProperties: true })),
  maxTokens: Type.Optional(Type.Integer()),
});
const owners: SectionOwner[] = [
  { section: "shop", plugin: "shop", schema: Shop },
  { section: "closed", plugin: "closed", schema: undefined },
];

async function placesOf(config: object, env: Record<string, string> = {}) {
  const file = await interpretConfig("/none/svc.json", JSON.stringify(config), env);
  return createSecretPlaces(() => [file, owners]);
}

const ref = { source: "env", provider: "default", id: "A" };
const bare = { source: "env", id: "A" };

describe("the places of secrets", () => {
  type Place = [path: string, target: string, value: unknown, active?: boolean];
  const account = { id: "x", private: "y" };
  const rows: [why: string, section: object, places: Place[]][] = [
    ["nothing", {}, []],
    ["a text", { key: "k" }, [["key", "key", "k"]]],
    ["a reference, as one place", { key: ref }, [["key", "key", ref]]],
    ["a reference without provider", { key: bare }, [["key", "key", bare]]],
    ["an empty text", { key: "" }, []],
    ["items of a list", { accounts: [{ name: "a", apiKey: "1" }] }, [["accounts.0.apiKey", "accounts.*.apiKey", "1"]]],
    ["members of a map", { stores: { "y.z": { password: ref } } }, [["stores.y.z.password", "stores.*.password", ref]]],
    ["values of a map", { headers: { a: "b" } }, [["headers.a", "headers.*", "b"]]],
    ["texts of a list", { pins: ["", "2"] }, [["pins.1", "pins.*", "2"]]],
    ["a key marked as not sensitive", { publicToken: "shown" }, []],
    ["a key whose name only resembles a secret", { maxTokens: 5 }, []],
    ["a service account, as a whole", { serviceAccount: account }, [["serviceAccount", "serviceAccount", account]]],
  ];
  const others: [why: string, config: object, places: Place[]][] = [
    [
      "a key of the gateway",
      { gateway: { auth: { token: "t" } } },
      [["gateway.auth.token", "gateway.auth.token", "t"]],
    ],
    [
      "a section without an owner",
      { talk: { apiKey: ref, voices: [{ token: "t" }], voice: "v" } },
      [
        ["talk.apiKey", "talk.apiKey", ref, false],
        ["talk.voices.0.token", "talk.voices.*.token", "t", false],
      ],
    ],
    ["a plugin that is not running", { closed: { apiKey: ref } }, [["closed.apiKey", "closed.apiKey", ref, false]]],
  ];
  const shop = ([path, target, ...rest]: Place): Place => [`shop.${path}`, `shop.${target}`, ...rest];
  const inShop = rows.map(([why, section, places]): (typeof rows)[0] => [why, { shop: section }, places.map(shop)]);
  for (const [why, config, expected] of [...inShop, ...others]) {
    it(`are found for ${why}`, async () => {
      const places = (await placesOf(config)).list();
      assert.deepEqual(
        places.map(({ path, target, value, active }) => [path.join("."), target, value, active]),
        expected.map(([path, target, value, active = true]) => [path, target, value, active]),
      );
    });
  }

  it("have variables resolved, and numbers for items of lists", async () => {
    const places = await placesOf({ shop: { accounts: [{ name: "a", apiKey: "${KEY}" }] } }, { KEY: "resolved" });
    assert.deepEqual(places.list(), [
      { path: ["shop", "accounts", 0, "apiKey"], target: "shop.accounts.*.apiKey", value: "resolved", active: true },
    ]);
  });

  it("can be at these patterns, and nothing below them", async () => {
    const targets = (await placesOf({})).targets();
    const own = targets.filter((target) => target.startsWith("shop.")).map((target) => target.slice(5));
    assert.deepEqual(own, ["key", "accounts.*.apiKey", "stores.*.password", "headers.*", "pins.*"]);
    for (const target of ["gateway.auth.token", "gateway.auth.password", "hooks.token"])
      assert.ok(targets.includes(target), target);
    assert.equal(new Set(targets).size, targets.length);
  });

  it("follow the current configuration", async () => {
    const keyed = (key: string) => interpretConfig("/none/svc.json", JSON.stringify({ shop: { key } }), {});
    let current = await keyed("1");
    const places = createSecretPlaces(() => [current, owners]);
    assert.equal(places.list()[0]?.value, "1");
    current = await keyed("2");
    assert.equal(places.list()[0]?.value, "2");
  });
});
