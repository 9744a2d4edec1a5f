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

describe("the places of secrets", () => {
  const rows: [
    why: string,
    config: object,
    places: [path: string, target: string, value: unknown, active?: boolean][],
  ][] = [
    ["nothing", {}, []],
    ["a text", { shop: { key: "k" } }, [["shop.key", "shop.key", "k"]]],
    ["a reference, as one place", { shop: { key: ref } }, [["shop.key", "shop.key", ref]]],
    [
      "a reference without provider",
      { shop: { key: { source: "env", id: "A" } } },
      [["shop.key", "shop.key", { source: "env", id: "A" }]],
    ],
    ["an empty text, which is none", { shop: { key: "" } }, []],
    [
      "items of a list",
      {
        shop: {
          accounts: [
            { name: "a", apiKey: "1" },
            { name: "b", apiKey: ref },
          ],
        },
      },
      [
        ["shop.accounts.0.apiKey", "shop.accounts.*.apiKey", "1"],
        ["shop.accounts.1.apiKey", "shop.accounts.*.apiKey", ref],
      ],
    ],
    [
      "members of a map",
      { shop: { stores: { x: { password: "p" }, "y.z": { password: ref } } } },
      [
        ["shop.stores.x.password", "shop.stores.*.password", "p"],
        ["shop.stores.y.z.password", "shop.stores.*.password", ref],
      ],
    ],
    ["values of a map", { shop: { headers: { a: "b" } } }, [["shop.headers.a", "shop.headers.*", "b"]]],
    [
      "texts of a list",
      { shop: { pins: ["1", "", "2"] } },
      [
        ["shop.pins.0", "shop.pins.*", "1"],
        ["shop.pins.2", "shop.pins.*", "2"],
      ],
    ],
    ["a key that is said to be none", { shop: { publicToken: "shown" } }, []],
    ["a key whose name only looks like one", { shop: { maxTokens: 5 } }, []],
    [
      "a service account, as a whole",
      { shop: { serviceAccount: { id: "x", private: "y" } } },
      [["shop.serviceAccount", "shop.serviceAccount", { id: "x", private: "y" }]],
    ],
    [
      "a key of the gateway",
      { gateway: { auth: { token: "t" } } },
      [["gateway.auth.token", "gateway.auth.token", "t"]],
    ],
    [
      "a section nobody has",
      { talk: { apiKey: ref, voices: [{ token: "t" }], voice: "v" } },
      [
        ["talk.apiKey", "talk.apiKey", ref, false],
        ["talk.voices.0.token", "talk.voices.*.token", "t", false],
      ],
    ],
    [
      "a section of a plugin that is not running",
      { closed: { apiKey: ref } },
      [["closed.apiKey", "closed.apiKey", ref, false]],
    ],
  ];
  for (const [why, config, expected] of rows) {
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
    const own = targets.filter((target) => target.startsWith("shop."));
    assert.deepEqual(own, [
      "shop.key",
      "shop.accounts.*.apiKey",
      "shop.stores.*.password",
      "shop.headers.*",
      "shop.pins.*",
    ]);
    for (const target of ["gateway.auth.token", "gateway.auth.password", "hooks.token"])
      assert.ok(targets.includes(target), target);
    assert.equal(new Set(targets).size, targets.length);
  });

  it("follow the current configuration", async () => {
    const before = await interpretConfig("/none/svc.json", '{"shop":{"key":"1"}}', {});
    const after = await interpretConfig("/none/svc.json", '{"shop":{"key":"2"}}', {});
    let current = before;
    const places = createSecretPlaces(() => [current, owners]);
    assert.equal(places.list()[0]?.value, "1");
    current = after;
    assert.equal(places.list()[0]?.value, "2");
  });
});
