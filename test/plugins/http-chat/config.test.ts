/** The section `gateway.http.endpoints.chatCompletions`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, describeViolations, withDefaults } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { ChatCompletionsConfig } from "../../../plugins/http-chat/config.ts";
import { PLUGINS, SUITE_MS } from "./scene.ts";

describe("the configuration", { timeout: SUITE_MS }, () => {
  it("has these defaults", () => {
    assert.deepEqual(withDefaults(ChatCompletionsConfig, {}), {
      enabled: false,
      maxBodyBytes: 20_971_520,
      images: {
        allowUrl: false,
        allowedMimes: ["image/png", "image/jpeg", "image/gif", "image/webp"],
        maxBytes: 10_485_760,
        maxTotalBytes: 20_971_520,
        maxParts: 8,
        maxRedirects: 3,
        timeoutMs: 10_000,
      },
    });
  });

  const refused: [what: string, endpoint: object, path: RegExp][] = [
    ["an unknown key", { enable: true }, /unexpected property 'enable'/],
    ["an unknown key of images", { images: { allowUrls: true } }, /images.*allowUrls/],
    ["a text for a switch", { enabled: "yes" }, /enabled/],
    ["no bytes", { maxBodyBytes: 0 }, /maxBodyBytes/],
    ["a type that is none", { enabled: true, images: { allowedMimes: ["png"] } }, /allowedMimes/],
  ];
  for (const [what, endpoint, path] of refused)
    it(`refuses ${what}`, () => assert.match(describeViolations(ChatCompletionsConfig, endpoint), path));

  it("is taken at once, the size of a request by a reload of the plugin", async (t) => {
    let store: ConfigStore | undefined;
    const editor = definePlugin({
      id: "editor",
      api: "^1.0.0",
      requires: { store: ConfigStore },
      setup: ({ services }) => void ({ store } = services),
    });
    const { gateway } = await testGateway(t, { plugins: [...PLUGINS, editor], gateway: { config: undefined } });
    const path = ["gateway", "http", "endpoints", "chatCompletions"];
    const set = async (value: object) =>
      (await store?.edit({ actor: "test", action: "test" }, () => [{ path, value }]))?.reload;
    const models = async () => {
      const headers = { authorization: `Bearer ${gateway.auth.token}` };
      return (await fetch(`${gateway.url.replace(/^ws/, "http")}/v1/models`, { headers })).status;
    };
    assert.equal(await models(), 404);
    assert.equal(await set({ enabled: true }), "hot");
    assert.equal(await models(), 200);
    assert.equal(await set({ enabled: true, images: { maxParts: 2 } }), "hot");
    assert.equal(await set({ enabled: true, maxBodyBytes: 1_000 }), "plugin");
    assert.equal(await models(), 200);
    assert.equal(await set({ enabled: false }), "plugin");
    assert.equal(await models(), 404);
  });
});
