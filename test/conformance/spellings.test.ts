/** Forty spellings of guarded paths: none is accepted without the credential, and with it only the plain one matches. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { WebhookAction } from "@svc/sdk/webhooks";

const PATH = "/plugins/guarded/secret-door";
const INSIDE = "you-are-inside";

const guarded = definePlugin({
  id: "guarded",
  api: "^1.0.0",
  setup(gateway) {
    gateway.route({
      method: "GET",
      path: PATH,
      auth: "gateway",
      scope: "operator.admin",
      summary: "-",
      handler: () => ({ body: INSIDE }),
    });
    gateway.extend(WebhookAction, "guarded-action", {
      summary: "-",
      direct: true,
      fields: Type.Object({}),
      prepare: () => ({ params: {}, reply: { door: INSIDE } }),
      commit: () => [],
    });
  },
});

/** Request line for `/<first>/<second>/<name>`, or with fewer parts before the name. */
function spellingsOf(path: string): readonly string[] {
  const cut = path.lastIndexOf("/") + 1;
  const name = path.slice(cut);
  const named = (text: string) => path.slice(0, cut) + text;
  const escaped = (char: string) => `%${char.charCodeAt(0).toString(16)}`;
  const wide = (char: string) => String.fromCodePoint(char.charCodeAt(0) + 0xfee0);
  const [initial = "", rest] = [name[0], name.slice(1)];
  const beneath = (text: string) => `${path.slice(0, cut - 1)}${text}${name}`;
  return [
    ...["/", "//", "/.", "/..", `/../${name}`, "/./", ";", ";a=b", ".json", "?", "\\"].map((tail) => path + tail),
    ...["2f", "00", "20", "0a", "5c", "", "zz"].map((code) => `${path}%${code}`),
    ...["/", "//evil.example", "/.", "/..", "/x/..", "/%2e", "/%2e%2e", "/x/%2e%2e", "/%5c", "/;"].map(
      (head) => head + path,
    ),
    named(initial.toUpperCase() + rest),
    named(name.toUpperCase()),
    named(escaped(initial) + rest),
    named(`%25${escaped(initial).slice(1)}${rest}`),
    named(name.slice(0, -1) + escaped(name.slice(-1))),
    named(`${name.slice(0, -1)}%25${escaped(name.slice(-1)).slice(1)}`),
    named(`${initial}\u00ad${rest}`),
    named(wide(initial) + rest),
    named(`${initial}\u0308${rest}`),
    path.toUpperCase(),
    path.replaceAll("/", "//"),
    path.replaceAll("/", "/./"),
    path.replaceAll("/", "%2f"),
    path.slice(1),
    `http://127.0.0.1${path}`,
    `http://user:pass@evil.example${path}`,
    `*${path}`,
    beneath("/x/../"),
    beneath("/%2e/"),
    `/.${path}`.replace("/./", "/./x/../"),
  ];
}

/** Status line and body of the response to a request line that no client library would send. */
function ask(
  port: number,
  method: string,
  target: string,
  authorization: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${target}`)));
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", reject);
    socket.on("close", () => resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }));
    socket.write(`${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Connection: close\r\n\r\n`);
  });
}

/** Equivalent spellings: percent-encoding of the same letters, an empty query, the absolute form, and those in `also`. */
function meansTheSame(path: string, target: string, also: readonly string[]): boolean {
  const cut = path.lastIndexOf("/") + 1;
  const plain = target.replace(/\?$/, "").replace(/^http:\/\/[^/]+/, "");
  return (
    also.includes(plain) || plain === path || (plain.slice(0, cut) === path.slice(0, cut) && decoded(plain) === path)
  );
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const HOOK_TOKEN = "hook-token-of-the-spellings";

const MAPPED = "/hooks/deep/mapped-door";

/** An endpoint of each kind; leading and trailing slashes of a mapping's path are ignored. Spec: http/webhooks.md §2. */
const DOORS: readonly [kind: string, path: string, method: "GET" | "POST", also: readonly string[]][] = [
  ["a route", PATH, "GET", []],
  ["the path of an action", "/hooks/guarded-action", "POST", []],
  ["the path of a mapping", MAPPED, "POST", [`${MAPPED}/`]],
];

const mappings = [{ match: { path: "deep/mapped-door" }, action: "guarded-action" }];
const start = (t: TestContext) =>
  testGateway(t, {
    plugins: ["storage-sqlite", "webhooks", guarded],
    config: { hooks: { enabled: true, token: HOOK_TOKEN, mappings } },
  });

for (const [kind, path, method, also] of DOORS) {
  const spellings = spellingsOf(path);
  const isHook = method === "POST";

  describe(`spellings of ${kind}`, { timeout: 120_000 }, () => {
    it("are at least forty, all different", () => {
      assert.ok(spellings.length >= 40);
      assert.equal(new Set([...spellings, path]).size, spellings.length + 1);
    });

    it("are refused without the credential", async (t) => {
      const { gateway } = await start(t);
      assert.equal((await ask(gateway.port, method, path, "")).status, 401);
      for (const target of spellings) {
        const { status, text } = await ask(gateway.port, method, target, "");
        assert.ok([400, 401, 404, ...(isHook ? [429] : [])].includes(status), `${target}: ${status}`);
        assert.ok(!text.includes(INSIDE), target);
      }
    });

    it("match the path with the credential only if equivalent", async (t) => {
      const { gateway } = await start(t);
      const authorization = `Authorization: Bearer ${isHook ? HOOK_TOKEN : gateway.auth.token}\r\n`;
      assert.ok((await ask(gateway.port, method, path, authorization)).text.includes(INSIDE));
      for (const target of spellings) {
        const { status } = await ask(gateway.port, method, target, authorization);
        // Webhooks do not accept the absolute form.
        const isSame = meansTheSame(path, target, also) && !(isHook && target.startsWith("http"));
        assert.ok([400, 404].includes(status) || (isSame && status === 200), `${target}: ${status}`);
      }
    });
  });
}
