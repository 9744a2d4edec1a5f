import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { violations, withDefaults } from "@svc/sdk";
import JSON5 from "json5";
import { accountsOf } from "../../../plugins/models/asking/accounts.ts";
import { ModelsConfig } from "../../../plugins/models/config.ts";

/** The first configuration in the README of a plugin; adds missing braces. */
function exampleOf(plugin: string): { readonly models: unknown } {
  const text = readFileSync(`plugins/${plugin}/README.md`, "utf8");
  const [, json = ""] = /```json5\n([\s\S]*?)```/u.exec(text) ?? assert.fail("the README has no configuration");
  return JSON5.parse(json.startsWith("{") ? json : `{${json}}`);
}

describe("the configuration in the README", () => {
  for (const plugin of ["models", "provider-openai", "provider-anthropic"]) {
    it(`of ${plugin} is valid`, () => {
      const section = withDefaults(ModelsConfig, exampleOf(plugin).models);
      assert.deepEqual(violations(ModelsConfig, section), []);
    });
  }

  it("of models shows a provider with two accounts", () => {
    const { providers } = withDefaults(ModelsConfig, exampleOf("models").models) as ModelsConfig;
    const accounts = Object.entries(providers).flatMap(([name, entry]) => accountsOf(name, entry));
    assert.deepEqual(
      accounts.map(({ name }) => name),
      ["anthropic:work", "anthropic:spare", "local"],
    );
  });
});
