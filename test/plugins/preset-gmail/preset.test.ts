import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violations } from "@svc/sdk";
import { GmailConfig } from "../../../plugins/preset-gmail/config.ts";
import plugin from "../../../plugins/preset-gmail/plugin.ts";
import { make, presetOf } from "../preset-scene.ts";

const message = {
  id: "18f2",
  from: "Ada <ada@example.org>",
  subject: "Hello",
  snippet: "Hello...",
  body: "Hello, you.",
};
const payload = { source: "gmail", messages: [message, { ...message, id: "other" }] };

describe("the preset gmail", () => {
  it("makes a run of the first message", async () => {
    const { id, preset } = presetOf(plugin, {});
    const made = await make(preset, { path: "gmail", payload });
    assert.equal(id, "gmail");
    assert.deepEqual(made?.texts, {
      name: "Gmail",
      sessionKey: "hook:gmail:18f2",
      idempotencyKey: "18f2",
      messageTemplate:
        "A mail has arrived.\nFrom: Ada <ada@example.org>\nSubject: Hello\nSnippet: Hello...\n\nHello, you.",
    });
    assert.deepEqual(made?.missing, []);
    const { id: mapping, action, wakeMode, contentSource } = made?.mapping ?? {};
    assert.deepEqual([mapping, action, wakeMode, contentSource], ["gmail", "agent", "now", "email"]);
  });

  it("has no idempotency key without an id", async () => {
    const made = await make(presetOf(plugin, {}).preset, { path: "gmail", payload: { messages: [{ subject: "x" }] } });
    assert.equal(made?.texts["idempotencyKey"], "");
    assert.ok(made?.missing.includes("messages[0].id"));
  });

  it("says nothing of model, thinking and marks unless the settings do", () => {
    const [plain] = presetOf(plugin, {}).preset.mappings;
    for (const key of ["model", "thinking", "allowUnsafeExternalContent"]) assert.ok(plain && !(key in plain), key);
    const settings = { model: "acme/small", thinking: "low", allowUnsafeExternalContent: true };
    const [mapping] = presetOf(plugin, settings).preset.mappings;
    const { model, thinking, allowUnsafeExternalContent } = mapping ?? {};
    assert.deepEqual({ model, thinking, allowUnsafeExternalContent }, settings);
  });
});

describe("the section hooks.gmail", () => {
  const watcher: Record<string, unknown> = {
    account: "a@example.org",
    topic: "projects/x/topics/y",
    label: "INBOX",
    subscription: "push",
    pushToken: "CANARY",
    hookUrl: "http://127.0.0.1:1/hooks/gmail",
    includeBody: true,
    maxBytes: 20_000,
    renewEveryMinutes: 720,
    serve: { port: 8_788 },
    tailscale: { mode: "off" },
  };
  for (const [key, value] of Object.entries(watcher)) {
    it(`refuses ${key} by name, and says what to do instead`, () => {
      const [found, ...more] = violations(GmailConfig, { [key]: value });
      assert.deepEqual([found?.path, more], [`/${key}`, []]);
      const says = new RegExp(
        `no mail watcher; run one next to it.*<hooks\\.path>/gmail.*unset hooks\\.gmail\\.${key}$`,
      );
      assert.match(String(found?.message), says);
      assert.ok(!found?.message.includes("CANARY"));
    });
  }

  it("takes what has an effect", () => {
    const valid = { model: "a/b", thinking: "high", allowUnsafeExternalContent: false };
    assert.deepEqual(violations(GmailConfig, valid), []);
    assert.deepEqual(violations(GmailConfig, {}), []);
    const wrong = { model: "", thinking: "xhigh", allowUnsafeExternalContent: "yes", modell: 1 };
    const paths = violations(GmailConfig, wrong).map(({ path }) => path);
    assert.deepEqual(paths.toSorted(), ["", "/allowUnsafeExternalContent", "/model", "/thinking"]);
  });
});
