/** What of the configuration goes with a plugin. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keysOf, withoutKeys } from "../../../../plugins/plugins/install/kept-data.ts";

const owners = [
  { section: "chats.mail", plugin: "mail" },
  { section: "chats.post", plugin: "post" },
  { section: "hooks.mail", plugin: "mail" },
];
const paths = (parsed: object) => withoutKeys(parsed, keysOf(parsed, "mail", owners)).map(({ path }) => path.join("."));

describe("the keys of a removed plugin", () => {
  it("are its sections and its entry, as far as they are there", () => {
    assert.deepEqual(paths({ chats: { mail: {}, post: {} }, plugins: { entries: { mail: {} } } }), [
      "chats.mail",
      "plugins.entries.mail",
    ]);
    assert.deepEqual(paths({ agents: {} }), []);
  });

  it("take the key around them along that nobody else is below, unless it is the gateway's", () => {
    assert.deepEqual(paths({ chats: { mail: {} }, hooks: { mail: {} } }), ["chats", "hooks.mail"]);
  });
});
