/** `svc models auth` and `svc models scan`, with a fake sign-in site and a gateway that records requests. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { CommandContext } from "@svc/sdk/cli";
import { authenticate } from "../../../plugins/models/verbs/auth.ts";
import { signInAtOpenRouter } from "../../../plugins/models/verbs/openrouter-login.ts";
import { scanServers } from "../../../plugins/models/verbs/scan.ts";

interface Site {
  /** Default: exchanges a code of the right verifier for `sk-or-new`. */
  readonly exchange?: (body: { code?: string; code_verifier?: string }) => [status: number, body: unknown];
}

/** A sign-in site: issues codes for a challenge, and keys for codes. */
async function siteOf(t: TestContext, { exchange }: Site = {}) {
  const challenges = new Map<string, string>();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const bytes of request) text += String(bytes);
    const body = JSON.parse(text) as { code?: string; code_verifier?: string };
    const challenge = createHash("sha256")
      .update(body.code_verifier ?? "")
      .digest("base64url");
    const isRight = request.url === "/api/v1/auth/keys" && challenges.get(body.code ?? "") === challenge;
    challenges.delete(body.code ?? "");
    const [status, answer] = exchange?.(body) ?? (isRight ? [200, { key: "sk-or-new" }] : [403, { error: "no" }]);
    response.writeHead(status).end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** The browser: the person agrees, and the site redirects to the callback. */
  const agree = async (url: string, change: (callback: string) => string = (callback) => callback) => {
    const { searchParams, pathname, origin } = new URL(url);
    assert.deepEqual([origin, pathname, searchParams.get("code_challenge_method")], [site, "/auth", "S256"]);
    challenges.set("code-1", searchParams.get("code_challenge") ?? "");
    const callback = (searchParams.get("callback_url") ?? "").replace("localhost", "127.0.0.1");
    return fetch(`${change(callback)}?code=code-1`);
  };
  return { site, agree };
}

describe("the sign-in at OpenRouter", { timeout: 60_000 }, () => {
  it("exchanges the code of the browser for a key, with the verifier of the challenge", async (t) => {
    const { site, agree } = await siteOf(t);
    const pages: Promise<Response>[] = [];
    const key = await signInAtOpenRouter({ site, show: (url) => pages.push(agree(url)) });
    assert.equal(key, "sk-or-new");
    const page = await pages[0];
    assert.equal(page?.status, 200);
    assert.match((await page?.text()) ?? "", /close this window/u);
  });

  it("accepts no code without the state, and still accepts the right one", async (t) => {
    const { site, agree } = await siteOf(t);
    const statuses: number[] = [];
    const key = await signInAtOpenRouter({
      site,
      show: (url) =>
        void (async () => {
          for (const change of [
            (callback: string) => callback.replace(/\/callback\/.*/u, "/"),
            (callback: string) => `${callback.slice(0, -1)}_`,
            (callback: string) => callback,
          ])
            statuses.push((await agree(url, change)).status);
        })(),
    });
    assert.equal(key, "sk-or-new");
    assert.deepEqual(statuses.slice(0, 2), [404, 404]);
  });

  it("serves one sign-in only: afterwards, nothing listens", async (t) => {
    const { site, agree } = await siteOf(t);
    let shown = "";
    const pages: Promise<Response>[] = [];
    await signInAtOpenRouter({ site, show: (url) => ((shown = url), pages.push(agree(url))) });
    await pages[0];
    await assert.rejects(agree(shown), /fetch failed/u);
  });

  it("ends after its time", async (t) => {
    const { site } = await siteOf(t);
    await assert.rejects(
      signInAtOpenRouter({ site, show: () => {}, timeoutMs: 20 }),
      /nobody signed in within .*nothing was written/u,
    );
  });

  const refusals: [why: string, site: Site, expected: RegExp][] = [
    ["a refused code", { exchange: () => [403, {}] }, /refused the sign-in \(403\)\nNext: /u],
    ["no key", { exchange: () => [200, { key: 7 }] }, /sent no key/u],
    ["a key with blanks", { exchange: () => [200, { key: "a b" }] }, /sent no key/u],
    ["no JSON", { exchange: () => [200, "<html>"] }, /not JSON/u],
    ["a huge response", { exchange: () => [200, "x".repeat(100_000)] }, /more than 65536 bytes/u],
  ];
  for (const [why, given, expected] of refusals)
    it(`reports ${why}`, async (t) => {
      const { site, agree } = await siteOf(t, given);
      await assert.rejects(signInAtOpenRouter({ site, show: (url) => void agree(url) }), expected);
    });

  it("reports that the person refused", async (t) => {
    const { site } = await siteOf(t);
    const show = (url: string) =>
      void fetch(
        `${(new URL(url).searchParams.get("callback_url") ?? "").replace("localhost", "127.0.0.1")}?error=denied`,
      );
    await assert.rejects(signInAtOpenRouter({ site, show }), /refused or cancelled/u);
  });
});

interface Given {
  readonly args?: readonly string[];
  readonly options?: object;
  readonly env?: NodeJS.ProcessEnv;
  readonly parsed?: object;
  readonly scan?: object;
  /** Input of a person; absent: not interactive. */
  readonly typed?: string;
  readonly json?: boolean;
}

const server = { provider: "acme", api: "a", configured: true, hasList: false, models: [], total: 0 };

async function run(
  verb: (context: CommandContext) => Promise<number>,
  { args = [], options = {}, parsed = {}, scan = { servers: [server], environment: [] }, typed, json = false }: Given,
) {
  const printed: unknown[] = [];
  const notes: string[] = [];
  const asked: [string, unknown][] = [];
  const written: unknown[] = [];
  const client = {
    async call({ name }: { name: string }, params: { raw?: string }) {
      asked.push([name, params]);
      if (name === "config.get") return { parsed, hash: "h1", exists: true, path: "/c.json" };
      if (name === "models.scan") return scan;
      if (name === "models.list") return { models: [{ provider: "openai", id: "gpt-5", name: "gpt-5" }] };
      if (name === "models.test") return { text: "ok" };
      written.push(JSON.parse(params.raw ?? ""));
      return { path: "/c.json", changed: [], restart: { scheduled: false, delayMs: 0 } };
    },
    close: async () => undefined,
  };
  const streams = [new PassThrough(), new PassThrough()] as const;
  let shown = "";
  streams[1].on("data", (bytes) => (shown += String(bytes)));
  if (typed !== undefined) {
    for (const stream of streams) Object.assign(stream, { isTTY: true });
    // One line at a time, as a person types: a reader takes all that is there.
    const lines = typed.split("\n");
    const feed = setInterval(() => {
      const line = lines.shift();
      if (line === undefined) clearInterval(feed);
      else streams[0].write(`${line}\n`);
    }, 15);
  }
  const context = {
    args,
    options,
    json,
    connect: async () => client,
    print: (value: unknown) => printed.push(value),
    note: (line: string) => notes.push(line),
    input: streams[0],
    output: streams[1],
  } as unknown as CommandContext; // the parts the verb uses
  const code = await verb(context);
  return {
    code,
    written,
    asked,
    printed: printed.map(String).join("\n"),
    values: printed,
    notes: notes.join("\n"),
    shown,
  };
}

const auth = ({ env = {}, ...given }: Given, site?: string) =>
  run((context) => authenticate(context, { env, ...(site === undefined ? {} : { site }) }), given);

const entry = (name: string, provider: object) => [{ models: { providers: { [name]: provider } } }];

describe("svc models auth", { timeout: 60_000 }, () => {
  it("signs in at openrouter, checks the key and writes it", async (t) => {
    const { site, agree } = await siteOf(t);
    const verb = (context: CommandContext) =>
      authenticate(
        { ...context, note: (line) => void (line.includes("http") && agree(line.slice(line.indexOf("http")))) },
        { env: {}, site },
      );
    const { code, written, asked, printed } = await run(verb, { args: ["openrouter"] });
    assert.deepEqual([code, written], [0, entry("openrouter", { apiKey: "sk-or-new" })]);
    assert.deepEqual(asked.find(([name]) => name === "models.scan")?.[1], {
      provider: "openrouter",
      account: { apiKey: "sk-or-new" },
    });
    assert.match(printed, /accepts the key\. Wrote it to \/c\.json/u);
    assert.doesNotMatch(printed, /sk-or-new/u);
  });

  it("asks for the key without showing it", async () => {
    const { written, printed, shown, notes } = await auth({ args: ["openai"], typed: "sk-typed" });
    assert.deepEqual(written, entry("openai", { apiKey: "sk-typed" }));
    assert.match(shown, /^Key of openai \(hidden\): \n$/u);
    assert.doesNotMatch(printed + notes, /sk-typed/u);
    assert.match(printed, /1 models: svc models list/u);
  });

  it("writes the name of a variable, and checks its value", async () => {
    const given = { args: ["openai"], options: { keyEnv: "MY_KEY" }, env: { MY_KEY: "sk-env" } };
    const { written, asked, printed } = await auth(given);
    assert.deepEqual(written, entry("openai", { apiKey: "${MY_KEY}" }));
    assert.deepEqual(asked.find(([name]) => name === "models.scan")?.[1], {
      provider: "openai",
      account: { apiKey: "sk-env" },
    });
    assert.match(printed, /set MY_KEY there at each start/u);
    await assert.rejects(auth({ ...given, env: {} }), /MY_KEY is not set in this terminal/u);
    await assert.rejects(auth({ ...given, options: { keyEnv: "sk-live" } }), /the name of an environment variable/u);
  });

  it("writes nothing if the server refuses the key", async () => {
    const scan = {
      servers: [{ ...server, problem: "the key was refused (401)", problemKind: "auth" }],
      environment: [],
    };
    const given = { args: ["openai"], options: { keyEnv: "K" }, env: { K: "k" }, scan };
    await assert.rejects(
      auth(given),
      /refused \(401\)\nnothing was written\nNext: svc models auth openai --key-env K, or add --unchecked/u,
    );
    const { written, asked } = await auth({ ...given, options: { keyEnv: "K", unchecked: true } });
    assert.equal(written.length, 1);
    assert.ok(!asked.some(([name]) => name === "models.scan"));
  });

  it("offers a test call where the API has no check, and sends it only after a yes", async () => {
    const scan = { servers: [{ ...server, problem: "no list", problemKind: "unsupported" }], environment: [] };
    const yes = await auth({ args: ["openai"], typed: "sk-1\ny", scan });
    assert.deepEqual(yes.asked.at(-1), ["models.test", { model: "openai/gpt-5" }]);
    const no = await auth({ args: ["openai"], typed: "sk-1\n", scan });
    assert.ok(!no.asked.some(([name]) => name === "models.test"));
    assert.match(no.notes, /was not checked/u);
  });

  it("replaces a key only after a yes", async () => {
    const given = { args: ["openai"], parsed: { models: { providers: { openai: { apiKey: "old" } } } } };
    const alone = await auth(given);
    assert.deepEqual([alone.code, alone.written], [1, []]);
    assert.match(alone.notes, /Next: svc models auth openai --yes/u);
    const { written } = await auth({ ...given, typed: "y\nsk-2" });
    assert.deepEqual(written, entry("openai", { apiKey: "sk-2" }));
  });

  const refusals: [why: string, given: Given, expected: RegExp][] = [
    [
      "an unknown provider",
      { args: ["nobody"] },
      /neither configured nor known; known providers: .*openai.*\nNext: .*svc models add/u,
    ],
    [
      "several accounts",
      { args: ["a"], parsed: { models: { providers: { a: { accounts: [] } } } } },
      /has several accounts\nNext: /u,
    ],
    ["no terminal", { args: ["openai"] }, /a key is needed\nNext: export OPENAI_API_KEY=/u],
    ["an empty key", { args: ["openai"], typed: "" }, /that is no key/u],
    ["a key with blanks", { args: ["openai"], typed: "two words" }, /that is no key/u],
  ];
  for (const [why, given, expected] of refusals) it(`refuses ${why}`, () => assert.rejects(auth(given), expected));
});

describe("svc models scan", { timeout: 60_000 }, () => {
  const cost = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 };
  const listed = {
    ...server,
    hasList: true,
    baseUrl: "https://acme.example",
    models: [
      { id: "old", name: "old", provider: "acme", isNew: false },
      {
        id: "fresh",
        name: "Fresh",
        provider: "acme",
        isNew: true,
        contextWindow: 1_000,
        maxTokens: 10,
        input: ["text", "document"],
        cost,
      },
    ],
    total: 2,
  };
  const environment = [{ variable: "OPENAI_API_KEY", provider: "openai", configured: false }];
  const scan = { servers: [listed, { ...server, provider: "down", problem: "does not respond" }], environment };

  it("prints servers, new models first, with facts and prices, and keys of the environment", async () => {
    const { code, printed } = await run(scanServers, { scan });
    assert.equal(code, 0);
    assert.equal(
      printed,
      [
        "acme (a, https://acme.example): 2 models, 1 not configured",
        "  + fresh  (1000 tokens, $1 in, $2 out)",
        "    old",
        "  Add one: svc models scan acme --add <id>",
        "down (a): does not respond",
        "OPENAI_API_KEY is set, and openai is not configured. Next: svc models auth openai --key-env OPENAI_API_KEY",
      ].join("\n"),
    );
  });

  it("adds a model with what its server states", async () => {
    const { written } = await run(scanServers, { args: ["acme"], options: { add: ["fresh"] }, scan });
    assert.deepEqual(
      written,
      entry("acme", { models: [{ id: "fresh", name: "Fresh", contextWindow: 1_000, input: ["text"], cost }] }),
    );
    await assert.rejects(
      run(scanServers, { args: ["acme"], options: { add: ["nope"] }, scan }),
      /acme has no model nope/u,
    );
    await assert.rejects(run(scanServers, { options: { add: ["x"] }, scan }), /requires a provider/u);
    const open = { servers: [{ ...listed, hasList: false }], environment };
    await assert.rejects(
      run(scanServers, { args: ["acme"], options: { add: ["fresh"] }, scan: open }),
      /can be used already/u,
    );
  });

  it("offers to use a key of the environment, and uses none without a yes", async () => {
    const yes = await run(scanServers, { scan, typed: "y" });
    assert.deepEqual(yes.written, entry("openai", { apiKey: "${OPENAI_API_KEY}" }));
    assert.deepEqual((await run(scanServers, { scan, typed: "" })).written, []);
  });

  it("fails if the named server could not be read, and prints its result with --json", async () => {
    const down = { servers: [scan.servers[1]], environment: [] };
    assert.equal((await run(scanServers, { args: ["down"], scan: down })).code, 1);
    assert.deepEqual((await run(scanServers, { scan, json: true })).values, [scan]);
  });

  it("escapes what a server writes", async () => {
    const evil = { ...listed, models: [{ id: "a\u001b[31m", name: "x", provider: "acme", isNew: true }], total: 1 };
    const { printed } = await run(scanServers, { scan: { servers: [evil], environment: [] } });
    assert.ok(printed.includes("a\\u001b[31m"), printed);
  });
});
