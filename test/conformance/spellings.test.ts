/** Forty spellings of a guarded path: none of them gets in without the credential, and with it only the plain one is the path. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { definePlugin } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";

const PATH = "/plugins/guarded/secret-door";
const INSIDE = "you-are-inside";

const guarded = definePlugin({
  id: "guarded",
  api: "^1.0.0",
  setup: (gateway) =>
    gateway.route({
      method: "GET",
      path: PATH,
      auth: "gateway",
      scope: "operator.admin",
      summary: "-",
      handler: () => ({ body: INSIDE }),
    }),
});

const door = (text: string) => PATH.replace("secret-door", text);
/** What stands in the request line. */
const SPELLINGS: readonly string[] = [
  ...[
    "/",
    "//",
    "/.",
    "/..",
    "/../secret-door",
    "/./",
    "%2f",
    "%00",
    "%20",
    "%0a",
    ";",
    ";a=b",
    ".json",
    "?",
    "\\",
    "%5c",
    "%",
    "%zz",
  ].map((tail) => PATH + tail),
  ...["/", "//evil.example", "/.", "/..", "/x/..", "/%2e", "/%2e%2e", "/x/%2e%2e", "/%5c", "/;"].map(
    (head) => head + PATH,
  ),
  door("Secret-Door"),
  door("SECRET-DOOR"),
  door("%73ecret-door"),
  door("%2573ecret-door"),
  door("secret%2Ddoor"),
  door("secret%252Ddoor"),
  door("secret‐door"),
  door("ｓecret-door"),
  door("secret-d\u00f6or"),
  door("secret-door").replace("/plugins", "/PLUGINS"),
  PATH.replaceAll("/", "//"),
  PATH.replaceAll("/", "/./"),
  PATH.replaceAll("/", "%2f"),
  PATH.slice(1),
  `http://127.0.0.1${PATH}`,
  `http://user:pass@evil.example${PATH}`,
  `*${PATH}`,
  PATH.replace("/guarded/", "/guarded/x/../"),
  PATH.replace("/guarded/", "/guarded/%2e/"),
  PATH.replace("/guarded/", "/./guarded/"),
];

/** The first line and the body of the answer to a request line that no client library would write. */
function ask(port: number, target: string, authorization: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${target}`)));
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", reject);
    socket.on("close", () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }));
    socket.write(
      Buffer.from(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Connection: close\r\n\r\n`, "utf8"),
    );
  });
}

describe("spellings of a guarded path", { timeout: 60_000 }, () => {
  it("are forty and more, each another", () => {
    assert.ok(SPELLINGS.length >= 40);
    assert.equal(new Set([...SPELLINGS, PATH]).size, SPELLINGS.length + 1);
  });

  it("let nobody in without the credential", async (t) => {
    const { gateway } = await testGateway(t, { plugins: [guarded] });
    assert.equal((await ask(gateway.port, PATH, "")).status, 401);
    for (const target of SPELLINGS) {
      const { status, text } = await ask(gateway.port, target, "");
      assert.ok([400, 401, 404].includes(status), `${target}: ${status}`);
      assert.ok(!text.includes(INSIDE), target);
    }
  });

  it("are the path only where they say the same, with it", async (t) => {
    const { gateway } = await testGateway(t, { plugins: [guarded] });
    const authorization = `Authorization: Bearer ${gateway.auth.token}\r\n`;
    assert.ok((await ask(gateway.port, PATH, authorization)).text.includes(INSIDE));
    /** One percent-encoding of the same letters, an empty query, and the absolute form mean the very path. */
    const same = [
      `${PATH}?`,
      door("%73ecret-door"),
      door("secret%2Ddoor"),
      `http://127.0.0.1${PATH}`,
      `http://user:pass@evil.example${PATH}`,
    ];
    for (const target of SPELLINGS) {
      const { status } = await ask(gateway.port, target, authorization);
      assert.ok([400, 404].includes(status) || (same.includes(target) && status === 200), `${target}: ${status}`);
    }
  });
});
