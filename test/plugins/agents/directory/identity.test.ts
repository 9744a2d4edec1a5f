import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { avatarKind, type Looks, presentIdentity } from "@svc/kit/identity";
import { mergeIdentity, parseIdentity, withIdentity } from "../../../../plugins/agents/directory/identity.ts";

describe("IDENTITY.md", () => {
  const lines: [line: string, found: object][] = [
    ["- Name: Ada", { name: "Ada" }],
    ["* **Name:** Ada", { name: "Ada" }],
    ["name : Ada L.", { name: "Ada L." }],
    ["- Emoji: 🦉\r", { emoji: "🦉" }],
    ["- Avatar: images/a.png", { avatar: "images/a.png" }],
    ["- Avatar: https://x.test/a.png", { avatar: "https://x.test/a.png" }],
    ["- Theme: calm: and clear", { theme: "calm: and clear" }],
    ["- Name:", {}],
    ["- Name: (pick one)", {}],
    ["- Name: _(pick one)_", {}],
    ["- Motto: x", {}],
    ["The name is: Ada", {}],
    ["- Name: Ada\n- Name: Bea", { name: "Bea" }],
  ];
  for (const [line, found] of lines) {
    it(`reads ${JSON.stringify(line)}`, () => assert.deepEqual(parseIdentity(line), found));
  }

  it("is given lines it does not have, once", () => {
    const identity = { name: "Ada", emoji: "🦉" };
    const text = withIdentity("# Identity", identity);
    assert.equal(text, "# Identity\n- Name: Ada\n- Emoji: 🦉\n");
    assert.equal(withIdentity(text ?? "", identity), undefined);
    assert.equal(withIdentity("", { avatar: "A" }), "- Avatar: A\n");
    assert.deepEqual(parseIdentity(withIdentity("- Name: Bea\n", identity) ?? ""), identity);
  });

  it("fills the gaps of the configuration", () => {
    const merged = mergeIdentity({ name: "Ada", emoji: " " }, { name: "Bea", emoji: "🦉", theme: "calm" });
    assert.deepEqual(merged, { name: "Ada", theme: "calm", emoji: "🦉" });
  });
});

describe("an avatar", () => {
  const kinds: [string, string | undefined][] = [
    ["https://x.test/a.png", "remote"],
    ["HTTP://x.test", "remote"],
    ["data:image/png;base64,AA", "data"],
    ["data:text/html,x", undefined],
    ["javascript:alert(1)", undefined],
    ["file:///etc/passwd", undefined],
    ["images/a.png", "path"],
    ["a.WEBP", "path"],
    ["/etc/passwd", "path"],
    ["🦉", "text"],
    ["ABCD", "text"],
    ["ABCDE", undefined],
    ["A B", undefined],
    ["", undefined],
  ];
  for (const [avatar, kind] of kinds) {
    it(`"${avatar}" is ${kind ?? "nothing to show"}`, () => assert.equal(avatarKind(avatar), kind));
  }
});

describe("what clients are shown", () => {
  const base: Looks = { agentId: "ada", name: undefined, configured: undefined, file: {}, hasImage: () => false };
  const longUrl = `https://x.test/${"a".repeat(200)}`;
  const family = "👩‍👩‍👧‍👦"; // 11 UTF-16 units
  const rows: [what: string, change: Partial<Looks>, shown: object][] = [
    ["a default", {}, { name: "Assistant", avatar: "A" }],
    [
      "the configured name",
      { configured: { name: "Ada" }, file: { name: "B" }, name: "C" },
      { name: "Ada", avatar: "A" },
    ],
    ["then that of the file", { file: { name: "Bea" }, name: "C" }, { name: "Bea", avatar: "A" }],
    ["then that on the list", { name: "Cleo" }, { name: "Cleo", avatar: "A" }],
    ["at most 50 characters of a name", { name: "x".repeat(60) }, { name: "x".repeat(50), avatar: "A" }],
    ["the emoji as avatar too", { file: { emoji: "🦉" } }, { name: "Assistant", avatar: "🦉", emoji: "🦉" }],
    [
      "the configured avatar before emojis",
      { configured: { avatar: "AB", emoji: "🌙" }, file: { avatar: "CD" } },
      { name: "Assistant", avatar: "AB", emoji: "🌙" },
    ],
    [
      "the configured emoji before the file's avatar",
      { configured: { emoji: "🌙" }, file: { avatar: "CD" } },
      { name: "Assistant", avatar: "🌙", emoji: "🌙" },
    ],
    [
      "whole characters of an emoji",
      { file: { emoji: family + family } },
      { name: "Assistant", avatar: family + family, emoji: family },
    ],
    [
      "no URL that is too long",
      { configured: { avatar: longUrl }, file: { avatar: "B" } },
      { name: "Assistant", avatar: "B" },
    ],
    [
      "an image by its address",
      { configured: { avatar: "a.png" }, hasImage: () => true },
      { name: "Assistant", avatar: "/avatar/ada" },
    ],
    [
      "an image below the base path of the control panel",
      { configured: { avatar: "a.png" }, hasImage: () => true, base: "/panel" },
      { name: "Assistant", avatar: "/panel/avatar/ada" },
    ],
    [
      "the override before everything else",
      { override: { name: "Eve", avatar: "E" }, configured: { name: "Ada", avatar: "AB" }, file: { emoji: "🦉" } },
      { name: "Eve", avatar: "E", emoji: "🦉" },
    ],
    [
      "no override that is blank or cannot be shown",
      { override: { name: " ", avatar: "not an avatar" }, configured: { name: "Ada", avatar: "AB" } },
      { name: "Ada", avatar: "AB" },
    ],
    ["no image that is not there", { configured: { avatar: "a.png" } }, { name: "Assistant", avatar: "A" }],
    ["no script", { configured: { avatar: "javascript:alert(1)" } }, { name: "Assistant", avatar: "A" }],
  ];
  for (const [what, change, shown] of rows) {
    it(`is ${what}`, () => assert.deepEqual(presentIdentity({ ...base, ...change }), { agentId: "ada", ...shown }));
  }
});
