/** Every rule of "Redaction", in values, texts and comments, and the way back. Spec: protocol/methods-config.md §1, http/config.md §3.1. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { hideComments, restoreComments } from "../../../host/config/comment-secrets.ts";
import { redact, REDACTED, redactText } from "../../../host/config/redact.ts";
import { restore } from "../../../host/config/restore.ts";

/** `{ a: { b: leaf } }` for `a.b`. */
function nested(path: string, leaf: unknown): unknown {
  const keys = path.split(".");
  return keys.reduceRight<unknown>((value, key) => ({ [key]: value }), leaf);
}

describe("secrets by the name of the key", () => {
  const hidden = `gateway.auth.token channels.x.BOTTOKEN access_token gateway.auth.password x.passwordHash
    hooks.secret clientSecret secrets.deep.value models.providers.openai.apiKey x.api_key x.api-key x.APIKEY
    x.serviceAccount x.serviceAccountRef match.headers.Authorization match.headers.proxy-authorization
    match.headers.Cookie match.when.user.token.not`;
  for (const path of hidden.split(/\s+/))
    it(`${path} is hidden`, () => assert.deepEqual(redact(nested(path, "canary"), {}), nested(path, REDACTED)));

  const shown = `models.x.maxTokens models.x.maxOutputTokens models.x.maxInputTokens models.x.maxCompletionTokens
    models.x.contextTokens usage.totalTokens usage.tokenCount x.tokenLimit x.tokenBudget gateway.passwordFile
    secret.maxTokens tokenizer tokens gateway.port serviceAccountName`;
  for (const path of shown.split(/\s+/))
    it(`${path} is shown`, () => assert.deepEqual(redact(nested(path, "plain"), {}), nested(path, "plain")));
});

describe("secrets by the kind of value", () => {
  const rows: [why: string, value: unknown, expected: unknown][] = [
    ["a text", "canary", REDACTED],
    ["a number", 4711, REDACTED],
    ["empty text", "", ""],
    ["null", null, null],
    ["true", true, true],
    ["a placeholder", "${MY_TOKEN}", "${MY_TOKEN}"],
    ["a text with a placeholder in it", "Bearer ${MY_TOKEN}", REDACTED],
    ["an escaped placeholder", "$${MY_TOKEN}", REDACTED],
    ["lower-case text that resembles a placeholder", "${my_token}", REDACTED],
    ["a list", ["canary", "${A}", "", 1], [REDACTED, "${A}", "", REDACTED]],
    ["lists in a list", [["canary"]], [[REDACTED]]],
    ["a reference", { source: "env", provider: "p", id: "CANARY" }, { source: "env", provider: "p", id: REDACTED }],
    ["a reference without provider", { source: "file", id: "canary" }, { source: "file", id: REDACTED }],
    ["a reference by placeholder", { source: "env", id: "${A}" }, { source: "env", id: "${A}" }],
    ["references in a list", [{ source: "env", id: "canary" }], [{ source: "env", id: REDACTED }]],
  ];
  for (const [why, value, expected] of rows)
    it(why, () => assert.deepEqual(redact({ token: value }, {}), { token: expected }));

  it("a reference is recognized by its keys under the name of a secret, and left alone under another name", () => {
    const reference = { source: "env", id: "canary" };
    assert.deepEqual(redact({ link: reference }, {}), { link: reference });
    const more = { source: REDACTED, id: REDACTED, more: REDACTED };
    assert.deepEqual(redact({ apiKey: { ...reference, more: "canary" } }, {}), { apiKey: more });
  });

  it("a service account is hidden as a whole, and a reference to one keeps its source", () => {
    const account = { type: "service_account", private_key: "canary", nested: { id: 1 } };
    const found = new Set<string>();
    assert.deepEqual(redact({ chat: { serviceAccount: account } }, {}, found), { chat: { serviceAccount: REDACTED } });
    assert.ok(found.has("canary"));
    const reference = { source: "file", id: "canary" };
    assert.deepEqual(redact({ serviceAccountRef: reference }, {}), {
      serviceAccountRef: { ...reference, id: REDACTED },
    });
  });
});

describe("secrets by the shape of the text", () => {
  const hidden = [
    "https://user:pw@models.example/v1",
    "https://token-as-user@models.example/v1",
    "postgres://u:p@db/x",
    "https://models.example/v1?key=canary",
    "https://models.example/v1?a=b&access_token=canary",
    "https://models.example/#sig=canary",
    "run it with https://user:pw@host/x",
    "Authorization: Bearer canary-1234",
    `sk-${"a".repeat(20)}`,
    `ghp_${"a".repeat(36)}`,
  ];
  for (const text of hidden)
    for (const value of [{ any: text }, { deep: [{ baseUrl: text }] }, { args: [text] }])
      it(`${JSON.stringify(value)} is hidden`, () => {
        const found = new Set<string>();
        assert.equal(JSON.stringify(redact(value, {}, found)), JSON.stringify(value).replace(text, REDACTED));
        assert.deepEqual([...found], [text]);
      });

  const shown = ["https://models.example/v1?page=2", "mailto:ada@models.example", "the token", "a:b@c"];
  for (const text of shown) it(`${text} is shown`, () => assert.deepEqual(redact({ any: text }, {}), { any: text }));

  it("a hint `sensitive: false` takes precedence", () => {
    const value = { a: "https://u:p@h/" };
    assert.deepEqual(redact(value, { a: { sensitive: false } }), value);
  });
});

describe("arguments of programs", () => {
  const rows: [args: string, shown: string][] = [
    ["--token canary -v", `--token ${REDACTED} -v`],
    ["--api-key canary", `--api-key ${REDACTED}`],
    ["--key canary", `--key ${REDACTED}`],
    ["-password canary", `-password ${REDACTED}`],
    ["--key=canary --x=1", `${REDACTED} --x=1`],
    ["--token ${TOKEN}", "--token ${TOKEN}"],
    ["--token --verbose", "--token --verbose"],
    ["--keyboard us --max-tokens 5", "--keyboard us --max-tokens 5"],
  ];
  for (const [args, shown] of rows)
    it(`${args} become ${shown}`, () => {
      const at = (line: string) => ({ mcp: { servers: { x: { command: "x", args: line.split(" ") } } } });
      assert.deepEqual(redact(at(args), {}), at(shown));
    });
});

describe("conditions of webhook mappings", () => {
  const match = (place: string, value: unknown) => {
    const [of = "", name = ""] = place.split(" ");
    return { hooks: { mappings: [{ match: { [of]: { [name]: value } } }] } };
  };
  for (const name of ["headers x-custom", "headers X-Hook", "when code", "when a.b[0].c", "when event.password"])
    for (const value of ["canary", 7, ["canary", "b"]])
      it(`${name} ${JSON.stringify(value)} is hidden`, () => {
        const instead = Array.isArray(value) ? value.map(() => REDACTED) : REDACTED;
        assert.deepEqual(redact(match(name, value), {}), match(name, instead));
      });
  for (const name of ["headers x-github-event", "headers Content-Type", "when action", "when a.b[0].status"])
    it(`${name} is shown`, () => assert.deepEqual(redact(match(name, "x"), {}), match(name, "x")));
});

describe("secrets by hint", () => {
  const secret = { sensitive: true };
  const rows: [why: string, hints: Record<string, unknown>, value: unknown, expected: unknown][] = [
    ["marks a secret", { "a.pin": secret }, { a: { pin: "canary" } }, { a: { pin: REDACTED } }],
    [
      "marks a value as not secret",
      { "a.token": { sensitive: false } },
      { a: { token: "plain" } },
      { a: { token: "plain" } },
    ],
    ["of another path has no effect", { "b.pin": secret }, { a: { pin: "plain" } }, { a: { pin: "plain" } }],
    ["without `sensitive` has no effect", { token: { label: "T" } }, { token: "canary" }, { token: REDACTED }],
    ["of map entries", { "a.*.pin": secret }, { a: { x: { pin: "canary" } } }, { a: { x: { pin: REDACTED } } }],
    ["of array items", { "a[].pin": secret }, { a: [{ pin: "canary" }] }, { a: [{ pin: REDACTED }] }],
    ["of plain items", { "a[]": secret }, { a: ["canary"] }, { a: [REDACTED] }],
    [
      "of an object hides all of it",
      { a: secret },
      { a: { b: ["canary"], c: true } },
      { a: { b: [REDACTED], c: true } },
    ],
    ["wins over a harmless name", { maxTokens: secret }, { maxTokens: 7 }, { maxTokens: REDACTED }],
  ];
  for (const [why, hints, value, expected] of rows)
    it(`a hint ${why}`, () => assert.deepEqual(redact(value, hints), expected));
});

describe("redaction", () => {
  it("does not modify its argument", () => {
    const value = { a: [{ token: "canary" }] };
    redact(value, {});
    assert.deepEqual(value, { a: [{ token: "canary" }] });
  });

  it("collects exactly the hidden values", () => {
    const found = new Set<string>();
    redact({ token: "one", list: [{ password: "two" }], apiKey: 3, port: 4, secret: "${FOUR}" }, {}, found);
    assert.deepEqual([...found], ["one", "two", "3"]);
  });

  it("does not follow keys to a prototype", () => {
    const copy = redact(JSON.parse('{"__proto__": {"token": "canary"}}'), {}) as object;
    assert.equal(JSON.stringify(copy), `{"__proto__":{"token":"${REDACTED}"}}`);
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  });
});

describe("redaction of text", () => {
  const rows: [why: string, text: string, secrets: string[], expected: string][] = [
    ["every place", "a=abc b=abc", ["abc"], `a=${REDACTED} b=${REDACTED}`],
    ["the longest first", "abcdef abc", ["abc", "abcdef"], `${REDACTED} ${REDACTED}`],
    ["escaped in JSON", JSON.stringify({ k: 'a"b\n' }), ['a"b\n'], `{"k":"${REDACTED}"}`],
    ["special characters literally", "a.c abc $& x", ["a.c", "$&"], `${REDACTED} abc ${REDACTED} x`],
    ["nothing to hide", "abc", [], "abc"],
  ];
  for (const [why, text, secrets, expected] of rows) {
    it(why, () => assert.equal(redactText(text, new Set(secrets)), expected));
  }
});

const LINE = `// ${REDACTED} 1`;
const BLOCK = `/* ${REDACTED} 1 */`;

describe("comments of a configuration", () => {
  const cut: [text: string, shown: string][] = [
    ['{ a: 1, // apiKey: "canary"\n b: 2 }', `{ a: 1, ${LINE}\n b: 2 }`],
    ['{ /* "token": "canary", */ b: 2 }', `{ ${BLOCK} b: 2 }`],
    ['{\n  // headers: {\n  //   "x-custom": "canary",\n  // },\n  b: 2 }', `{\n  ${LINE}\n  b: 2 }`],
    ['{ // args: ["--pass", "canary"]\n}', `{ ${LINE}\n}`],
    ["{ // baseUrl: 'https://user:canary@h/'\n}", `{ ${LINE}\n}`],
    ["{ // old: sk-canarycanarycanary\n}", `{ ${LINE}\n}`],
    ["{ a: '\\'', // password: canary\n}", `{ a: '\\'', ${LINE}\n}`],
    ["{} /* secret: canary", `{} ${BLOCK}`],
  ];
  for (const [text, shown] of cut)
    it(`${JSON.stringify(text)} is shown without its secret, and fully restored`, () => {
      assert.equal(hideComments(text), shown);
      assert.equal(restoreComments(shown, text), text);
    });

  const shown = [
    '{ a: "// token: x", b: "/* token */" }',
    "{ // port of the office\n port: 1 }",
    "{ 'it''s': 1 }",
    "{}",
  ];
  for (const text of shown) it(`${JSON.stringify(text)} stays`, () => assert.equal(hideComments(text), text));

  it("are restored where their marker was moved; a marker without a comment stays", () => {
    const text = "{ /* token: a */ x: 1, /* plain */ y: 2, /* token: b */ }";
    assert.equal(hideComments(text), `{ ${BLOCK} x: 1, /* plain */ y: 2, /* ${REDACTED} 2 */ }`);
    assert.equal(
      restoreComments(`{ /* ${REDACTED} 2 */ z: 1, /* ${REDACTED} 9 */ }`, text),
      `{ /* token: b */ z: 1, /* ${REDACTED} 9 */ }`,
    );
  });
});

const S = REDACTED;
const reference = (id: string) => ({ source: "env", id });
const condition = (value: string) => ({ hooks: { mappings: [{ match: { headers: { "x-a": value } } }] } });
const ids = (first: string, token: string, second: string, other: string) => ({
  list: [
    { id: first, token },
    { id: second, token: other },
  ],
});

describe("the sentinel", () => {
  const rows: [why: string, value: unknown, current: unknown, expected: unknown][] = [
    ["becomes the current value", { token: S }, { token: "x" }, { token: "x" }],
    ["becomes a number", { password: S }, { password: 7 }, { password: 7 }],
    ["keeps a placeholder", { token: S }, { token: "${TOKEN}" }, { token: "${TOKEN}" }],
    [
      "stands for a whole object",
      { serviceAccount: S },
      { serviceAccount: { k: [1] } },
      { serviceAccount: { k: [1] } },
    ],
    ["of a reference is its id", { token: reference(S) }, { token: reference("A") }, { token: reference("A") }],
    ["in a list is matched by index", { apiKey: ["new", S] }, { apiKey: ["a", "b"] }, { apiKey: ["new", "b"] }],
    [
      "in entries with ids is matched by id, also when they moved",
      ids("b", S, "a", S),
      ids("a", "A", "b", "B"),
      ids("b", "B", "a", "A"),
    ],
    ["stands for a text that looks like a secret", { url: S }, { url: "https://u:p@h/" }, { url: "https://u:p@h/" }],
    ["stands for an argument", { args: ["--token", S] }, { args: ["--token", "x"] }, { args: ["--token", "x"] }],
    ["stands for a condition", condition(S), condition("x"), condition("x")],
    [
      "leaves other values unchanged",
      { a: 1, token: S, b: [null] },
      { a: 9, token: "x" },
      { a: 1, token: "x", b: [null] },
    ],
  ];
  for (const [why, value, current, expected] of rows) {
    it(why, () => assert.deepEqual(restore(value, [current], {}), expected));
  }

  it("uses the second source when the first has no value", () => {
    assert.deepEqual(restore({ token: S }, [{}, { token: "inherited" }], {}), { token: "inherited" });
    assert.deepEqual(restore({ token: S }, [{ token: "mine" }, { token: "inherited" }], {}), { token: "mine" });
  });

  const refusals: [why: string, value: unknown, current: unknown, key: string, hints?: Record<string, unknown>][] = [
    ["nothing is stored", { a: { token: S } }, {}, "a.token"],
    ["the list is shorter", { apiKey: ["x", S] }, { apiKey: ["x"] }, "apiKey[1]"],
    ["the id is new", { list: [{ id: "c", token: S }] }, { list: [{ id: "a", token: "A" }] }, "list[0].token"],
    ["the key is not secret", { port: S }, { port: 1 }, "port"],
    ["a hint marks it as not secret", { token: S }, { token: "x" }, "token", { token: { sensitive: false } }],
    ["the current text does not look like a secret", { url: S }, { url: "https://h/" }, "url"],
    ["it is part of a text", { token: `Bearer ${S}` }, { token: "x" }, "token"],
    ["it is part of a key", { [`a${S}`]: 1 }, {}, `a${S}`],
    ["it would come from a prototype", { secret: { toString: S } }, { secret: {} }, "secret.toString"],
  ];
  for (const [why, value, current, key, hints = {}] of refusals) {
    it(`is refused, naming the key, when ${why}`, () => {
      assert.throws(
        () => restore(value, [current], hints),
        (error: Error & { code?: string }) =>
          error.code === "INVALID_REQUEST" && error.message.includes(`in key ${key} is not valid as real data`),
      );
    });
  }
});

describe("redact, then restore", () => {
  const keys = "token password plain apiKey id serviceAccount source maxTokens pin".split(" ");
  const key = fc.constantFrom(...keys);
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom("${A}", "", "x"));
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const hints = fc.dictionary(
    fc.constantFrom("pin", "plain", "plain.pin", "*.pin", "plain[]", "token"),
    fc.record({ sensitive: fc.boolean() }),
  );

  it("returns the original", () => {
    fc.assert(
      fc.property(fc.dictionary(key, tree, { noNullPrototype: true }), hints, (config, hints) => {
        const original = structuredClone(config);
        assert.deepEqual(restore(redact(config, hints), [config], hints), original);
        assert.deepEqual(config, original, "the argument is not modified");
      }),
      { numRuns: 500 },
    );
  });
});
