/** `config.schema.lookup`: one key of the schema, for forms that load it step by step. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReloadKind } from "@svc/sdk/config";
import { lookUp, type LookupSource } from "../../../plugins/config/lookup.ts";

const text = { type: "string" };
const SCHEMA = {
  type: "object",
  required: ["agents"],
  properties: {
    agents: {
      type: "object",
      title: "Agents",
      properties: {
        list: { type: "array", items: { type: "object", required: ["id"], properties: { id: text } } },
        model: { anyOf: [text, { type: "object", properties: { primary: text } }] },
        models: { type: "object", patternProperties: { "^.*$": { type: "object", properties: { alias: text } } } },
      },
    },
    port: { type: "integer" },
  },
};
const HINTS = {
  agents: { label: "Agents" },
  "agents.list[].id": { label: "Id" },
  "agents.models.*.alias": { label: "Alias" },
};

function source(asked: string[] = [], kind: ReloadKind = "restart"): LookupSource {
  return {
    schema: () => ({ schema: SCHEMA, uiHints: HINTS, version: "1" }),
    reloadKind(path) {
      asked.push(path.join("."));
      return kind;
    },
  };
}

describe("config.schema.lookup", () => {
  it("has the keys of the top", () => {
    const { path, schema, children } = lookUp(".", source());
    assert.deepEqual([path, schema], [".", { type: "object", required: ["agents"] }]);
    assert.deepEqual(children, [
      { path: "agents", key: "agents", type: "object", required: true, hasChildren: true, reloadKind: "restart", hint: HINTS.agents, hintPath: "agents" }, // prettier-ignore
      { path: "port", key: "port", type: "integer", required: false, hasChildren: false, reloadKind: "restart" },
    ]);
  });

  it("finds items of lists and entries of maps, by number, name or wildcard, with their hints", () => {
    for (const path of ["agents.list[].id", "agents.list.0.id", "agents.list[3].id", "agents.list.*.id"]) {
      const found = lookUp(path, source([], "plugin"));
      assert.deepEqual([found.schema, found.hintPath, found.reloadKind], [text, "agents.list[].id", "hot"], path);
    }
    const entry = lookUp("agents.models.gpt-5", source());
    assert.deepEqual(entry.children.map(({ path, hint }) => [path, hint?.label]), [["agents.models.gpt-5.alias", "Alias"]]); // prettier-ignore
    assert.deepEqual(lookUp("agents.list", source()).children.map(({ key }) => key), ["*"]); // prettier-ignore
  });

  it("has all types and keys of a union", () => {
    const model = lookUp("agents", source()).children.find(({ key }) => key === "model");
    assert.deepEqual([model?.type, model?.hasChildren], [["string", "object"], true]);
    assert.deepEqual(lookUp("agents.model.primary", source()).schema, text);
  });

  it("refuses a path that does not exist, and suggests a similar one", () => {
    const code = "NOT_FOUND";
    assert.throws(() => lookUp("agents.lisst", source()), { code, message: /Did you mean agents\.list\?$/u });
    for (const path of ["nope", "agents.list.id", "port.x", "__proto__", "agents.constructor"])
      assert.throws(() => lookUp(path, source()), { code, message: /^config schema path not found/u }, path);
  });
});
