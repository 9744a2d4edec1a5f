/** Pure parts: origins, addresses, networks, the welcome, and Markdown as a tree. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { networkOf } from "@svc/kit/net";
import { isAllowed, originOf, type Settings } from "../../../plugins/webchat/config.ts";
import type { ShownMessage } from "../../../plugins/webchat/protocol.ts";
import { createRate } from "../../../plugins/webchat/rate.ts";
import { addressOf, inboundOf, newestThatFit } from "../../../plugins/webchat/translate.ts";
import { type Node, parse } from "../../../plugins/webchat/widget/markdown.ts";

const ID = "0123456789abcdef0123456789abcdef";

it("origins are those of browsers", () => {
  const table: Readonly<Record<string, string | undefined>> = {
    "https://example.com": "https://example.com",
    " https://EXAMPLE.com/ ": "https://example.com",
    "https://example.com:443": "https://example.com",
    "http://localhost:8080": "http://localhost:8080",
    "*": "*",
    "example.com": undefined,
    "https://example.com/shop": undefined,
    "https://a@example.com": undefined,
    "ftp://example.com": undefined,
    "https://": undefined,
    "not an origin": undefined,
  };
  for (const [text, origin] of Object.entries(table)) assert.equal(originOf(text), origin, text);
});

it("an origin must be listed; a client without one needs its own setting", () => {
  const settings = (allowedOrigins: string[], allowClientsWithoutOrigin = false) =>
    ({ allowedOrigins, allowClientsWithoutOrigin }) as unknown as Settings; // the only settings that count here
  assert.equal(isAllowed("https://a.example", settings(["https://a.example"])), true);
  assert.equal(isAllowed("https://a.example.evil", settings(["https://a.example"])), false);
  assert.equal(isAllowed("null", settings(["https://a.example"])), false);
  assert.equal(isAllowed("https://b.example", settings(["*"])), true);
  assert.equal(isAllowed(undefined, settings(["*"])), false);
  assert.equal(isAllowed(undefined, settings([], true)), true);
});

it("addresses are ids of visitors", () => {
  assert.equal(addressOf(`user:${ID.toUpperCase()} `, []), ID);
  assert.equal(addressOf("ada", ["ada"]), "ada");
  for (const text of ["ada", "*", ID.slice(1), `${ID}0`, "constructor"])
    assert.equal(addressOf(text, ["bob"]), undefined);
});

it("the same message id of two visitors is two messages", () => {
  const shown: ShownMessage = { id: "v-one", from: "visitor", text: "hello", at: 7 };
  assert.deepEqual(inboundOf(ID, shown), {
    id: `${ID}:v-one`,
    messageId: "v-one",
    chat: { type: "direct", id: ID },
    sender: { id: ID },
    text: "hello",
    at: 7,
  });
});

it("a welcome has the newest messages that one text can carry", () => {
  const long = Array.from({ length: 100 }, (_, at): ShownMessage => ({
    id: `a-${at}`,
    from: "agent",
    text: "€".repeat(8_000),
    at,
  }));
  const fitting = newestThatFit(long);
  assert.ok(fitting.length > 5 && Buffer.byteLength(JSON.stringify(fitting)) < 500_000);
  assert.deepEqual(fitting.at(-1), long.at(-1));
  assert.deepEqual(newestThatFit(long.slice(0, 3)), long.slice(0, 3));
});

it("an IPv6 customer is one network", () => {
  assert.equal(networkOf("192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("unknown"), "unknown");
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
  assert.equal(networkOf("2001:db8::6"), "2001:db8:0:0");
  assert.equal(networkOf("fe80::1%eth0"), "fe80:0:0:0");
});

it("a minute's worth is allowed at once, then one at a time, for each key", () => {
  let now = 0;
  const rate = createRate({ elapsed: () => now });
  const take = (key = "one") => rate.take(key, 6);
  assert.deepEqual(
    Array.from({ length: 6 }, () => take()),
    [0, 0, 0, 0, 0, 0],
  );
  assert.equal(take(), 10_000);
  assert.equal(take("two"), 0);
  now = 10_000;
  assert.deepEqual([take(), take()], [0, 10_000]);
});

describe("Markdown", () => {
  /** The tree as text: `p(words)`. */
  const shown = (node: Node): string =>
    typeof node === "string"
      ? node
      : `${node.tag}${node.href ? `<${node.href}>` : ""}(${node.children.map(shown).join("")})`;
  const table: Readonly<Record<string, string>> = {
    "one\ntwo\n\nthree": "p(onebr()two)p(three)",
    "**bold** and *slanted*, _too_, __both *in* one__":
      "p(strong(bold) and em(slanted), em(too), strong(both em(in) one))",
    "snake_case_name 2*3*4": "p(snake_case_name 2*3*4)",
    "`**code**` ``a`b``": "p(code(**code**) code(a`b))",
    "# Title\ntext": "p(strong(Title))p(text)",
    "- one\n- two\n  more\n\n2. three": "ul(li(one)li(twobr()more))ol(li(three))",
    "> quoted\n> > twice": "blockquote(p(quoted)blockquote(p(twice)))",
    "```js\nlet a = '**';\n```\nend": "pre(code(let a = '**';))p(end)",
    "```\nnever closed": "pre(code(never closed))",
    "[a](https://example.com/x_(y)) https://example.com/z.":
      "p(a<https://example.com/x_(y)>(a) a<https://example.com/z>(https://example.com/z).)",
    "[a](javascript:alert(1)) [b](data:text/html,x) [c](/x) [d](//e.com)":
      "p([a](javascript:alert(1)) [b](data:text/html,x) [c](/x) [d](//e.com))",
    "<img src=x onerror=alert(1)> <b>": "p(<img src=x onerror=alert(1)> <b>)",
    "**never closed": "p(**never closed)",
  };
  for (const [markdown, tree] of Object.entries(table))
    it(JSON.stringify(markdown), () => assert.equal(parse(markdown).map(shown).join(""), tree));

  it("takes no time for hostile texts", () => {
    const begun = performance.now();
    for (const part of ["**", "*a ", "[", "`", "> ", "https://", "_a", "- ", "![](", "(((", "``` \n"])
      parse(part.repeat(8_000 / part.length));
    assert.ok(performance.now() - begun < 5_000);
  });
});
