import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPlugin, matches } from "@svc/sdk";
import { config } from "@svc/sdk/config";
import configPlugin from "../../../plugins/config/plugin.ts";
import { call, scene, snapshot } from "./scene.ts";

describe("the config plugin", () => {
  it("is a plugin", () => assert.ok(isPlugin(configPlugin)));

  it("returns from config.get the snapshot of the store", async (t) => {
    const answer = await (await scene(t)).handlers.get(call({}));
    assert.deepEqual(answer, snapshot);
    assert.ok(matches(config.get.result, answer));
  });

  it("returns config.schema with its creation time", async (t) => {
    const answer = await (await scene(t)).handlers.schema(call({}));
    const generatedAt = "1970-01-01T00:00:00.000Z";
    assert.deepEqual(answer, { schema: { type: "object" }, uiHints: {}, version: "1", generatedAt });
  });
});
