import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SecretHider } from "../../../host/logs/hide.ts";

function hider(known: readonly string[] = [], options: { shapes?: boolean; patterns?: readonly string[] } = {}) {
  const made = new SecretHider();
  made.use({ shapes: true, patterns: [], ...options });
  made.know(known);
  return made;
}
const line = (fields: object) => `${JSON.stringify({ level: 30, time: 1, ...fields })}\n`;

describe("text that looks like a secret", () => {
  const hidden: [text: string, shown: string][] = [
    ["Bearer abcdefgh12345678", "Bearer [redacted]"],
    ["Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted]"],
    ["it sent Basic dXNlcjpwYXNz to us", "it sent Basic [redacted] to us"],
    ["key sk-proj-abcdefghijklmnop1234 was refused", "key [redacted] was refused"],
    ["ghp_abcdefghijklmnopqrst12", "[redacted]"],
    ["https://bob:hunter2@example.com/a", "https://[redacted]@example.com/a"],
    ["https://example.com/a?token=abc&b=c", "https://example.com/a?token=[redacted]&b=c"],
    ["wss://example.com/#access_token=abc", "wss://example.com/#access_token=[redacted]"],
    ["password=hunter22 user=bob", "password=[redacted] user=bob"],
    ['{"apiKey": "hunter22"}', '{"apiKey": "[redacted]"}'],
    ['{\\"clientSecret\\":\\"hunter22\\"}', '{\\"clientSecret\\":\\"[redacted]\\"}'],
    ["Cookie: session=hunter22; theme=dark", "Cookie: [redacted]"],
    ["a -----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- b", "a [redacted] b"],
    ["-----BEGIN PRIVATE KEY-----\nMIIabc, and cut off", "[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted]"],
  ];
  for (const [text, shown] of hidden)
    it(`is hidden in ${text.slice(0, 40)}`, () => assert.equal(hider().text(text), shown));

  const plain = [
    "missing scope: operator.read",
    "Basic configuration was read",
    "the token is missing; send one",
    "session agent:main:main was reset",
    "https://example.com/a?page=2&sort=key",
    "task-management-of-the-day is on",
    "user@example.com wrote",
  ];
  for (const text of plain) it(`is not seen in ${text}`, () => assert.equal(hider().text(text), text));

  it("is shown if that is switched off; known secrets are still hidden", () => {
    const one = hider(["known-secret"], { shapes: false });
    assert.equal(one.text("Bearer abcdefgh12345678 known-secret"), "Bearer abcdefgh12345678 [redacted]");
    assert.match(one.line(line({ apiKey: "abcdef" })), /"apiKey":"\[redacted\]"/);
  });

  it("is also text that matches a configured pattern; an invalid pattern has no effect", () => {
    assert.equal(hider([], { patterns: ["order-\\d+", "("] }).text("order-4711 of Bob"), "[redacted] of Bob");
  });
});

describe("a line", () => {
  it("without secrets stays unchanged, byte for byte", () => {
    const plain = '{"level":30,"time":1,"a": 1.0,"msg":"x"}\n';
    assert.equal(hider(["secret-of-ours"]).line(plain), plain);
  });

  it("keeps its counts and flags, whatever their keys", () => {
    const fields = { totalTokens: 5, tokens: { input: 1 }, maxTokens: 7, hasPassword: true, secret: null, token: "" };
    assert.deepEqual(JSON.parse(hider().line(line(fields))), { level: 30, time: 1, ...fields });
  });

  it("loses whole objects and lists below a secret key", () => {
    const { credentials, cookie } = JSON.parse(hider().line(line({ credentials: { a: 1 }, cookie: ["b"] })));
    assert.deepEqual([credentials, cookie], ["[redacted]", "[redacted]"]);
  });

  it("that is too long keeps level, time, plugin and the start of its message", () => {
    const { level, plugin, msg, leftOutOfChars, big } = JSON.parse(
      hider().line(line({ plugin: "x", msg: "m".repeat(100_000), big: "b".repeat(300_000) })),
    );
    assert.deepEqual([level, plugin, msg.length, leftOutOfChars > 400_000, big], [30, "x", 65_536, true, undefined]);
  });

  it("hides the longer of two secrets, and ignores short words", () => {
    const one = hider(["secret-one", "secret-one-and-two", "abc"]);
    assert.equal(one.text("secret-one-and-two, abc"), "[redacted], abc");
  });

  it("stays valid JSON with a number that is secret", () => {
    const { pin, time, text } = JSON.parse(
      hider(["123456"]).line(line({ pin: 123456, time: 1234567, text: "a123456b" })),
    );
    assert.deepEqual([pin, time, text], ["[redacted]", 1234567, "a[redacted]b"]);
  });
});
