/** `svc models add`, with model servers over HTTP and a gateway that records requests. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { CommandContext } from "@svc/sdk/cli";
import { addModels } from "../../../plugins/models/verbs/add.ts";

type Answer = readonly [status: number, body: unknown];

async function serverOf(t: TestContext, answer: (request: IncomingMessage) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answer(request);
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const list = (...ids: unknown[]): Answer => [200, { object: "list", data: ids.map((id) => ({ id })) }];
const below = (path: string, answer: Answer) => (request: IncomingMessage) =>
  request.url === path ? answer : ([404, "no"] as const);

interface Given {
  readonly options?: object;
  readonly env?: NodeJS.ProcessEnv;
  readonly parsed?: object;
  /** The default model without a choice of the section `agents`. */
  readonly byDefault?: string;
  /** Input of a person; absent: not interactive. */
  readonly typed?: string;
}

async function add(url: string, { options = { yes: true }, env = {}, parsed = {}, byDefault, typed }: Given = {}) {
  const printed: unknown[] = [];
  const notes: string[] = [];
  let written: unknown;
  const client = {
    async call({ name }: { name: string }, params: { raw?: string }) {
      if (name === "config.get") return { parsed, hash: "h1", exists: true, path: "/c.json" };
      if (name === "models.status") return { default: byDefault };
      written = JSON.parse(params.raw ?? "");
      return { path: "/c.json" };
    },
    close: async () => {},
  };
  const streams = [new PassThrough(), new PassThrough()] as const;
  if (typed !== undefined) {
    for (const stream of streams) Object.assign(stream, { isTTY: true });
    streams[0].write(`${typed}\n`);
  }
  const context = {
    args: [url],
    options,
    json: false,
    connect: async () => client,
    print: (value: unknown) => printed.push(value),
    note: (line: string) => notes.push(line),
    input: streams[0],
    output: streams[1],
  } as unknown as CommandContext; // the parts the verb uses
  const code = await addModels(context, env);
  return { code, written, printed: printed.join("\n"), notes: notes.join("\n") };
}

const entry = (name: string, provider: object) => ({ models: { providers: { [name]: provider } } });

describe("svc models add", { timeout: 120_000 }, () => {
  it("writes the server with its models, and explains how to test one and make it the default", async (t) => {
    const url = await serverOf(t, below("/v1/models", list("small-1", "org/large-2", "small-1", 7)));
    const { code, written, printed } = await add(`${url}/v1/`);
    const models = [{ id: "small-1" }, { id: "org/large-2" }];
    assert.deepEqual([code, written], [0, entry("local", { baseUrl: `${url}/v1`, models })]);
    assert.match(
      printed,
      /^Added local with 2 models \(written to \/c\.json\):\n  local\/small-1\n  local\/org\/large-2\n/,
    );
    assert.match(printed, /svc models test local\/small-1\n.* svc models set local\/small-1$/);
  });

  for (const [title, given] of [
    ["the first model of all", { byDefault: "local/a" }],
    ["the model chosen before", { byDefault: "other/b", parsed: { agents: { defaults: { model: "local/a" } } } }],
  ] as const)
    it(`says that the model is the default: ${title}`, async (t) => {
      const url = await serverOf(t, () => list("a"));
      assert.match((await add(`${url}/v1`, given)).printed, /\nIt is the default model\.$/);
    });

  for (const [path, given] of [
    ["/v1", ""],
    ["", ""],
    ["/openai/v1", "/openai"],
  ] as const)
    it(`finds the list below "${path}" of an address that ends in "${given}"`, async (t) => {
      const url = await serverOf(t, below(`${path}/models`, list("a")));
      const { written } = await add(`${url}${given}`);
      assert.deepEqual(written, entry("local", { baseUrl: `${url}${path}`, models: [{ id: "a" }] }));
    });

  it("sends the key of the variable, and writes the variable", async (t) => {
    const url = await serverOf(t, ({ headers }) =>
      headers.authorization === "Bearer s3cret" ? list("a") : [401, "no"],
    );
    const options = { yes: true, keyEnv: "ACME_KEY", name: "acme" };
    const { written, printed, notes } = await add(`${url}/v1`, { options, env: { ACME_KEY: "s3cret" } });
    assert.deepEqual(written, entry("acme", { baseUrl: `${url}/v1`, apiKey: "${ACME_KEY}", models: [{ id: "a" }] }));
    assert.match(printed, /reads the key from its own environment: set ACME_KEY there/);
    assert.doesNotMatch(printed + notes, /s3cret/);
    await assert.rejects(add(`${url}/v1`), /requires a key \(401\)\nNext: .*--key-env/);
    await assert.rejects(add(`${url}/v1`, { options, env: { ACME_KEY: "other" } }), /rejects the key \(401\)/);
    await assert.rejects(add(`${url}/v1`, { options }), /ACME_KEY is not set in this terminal\nNext: export/);
    await assert.rejects(add(`${url}/v1`, { options: { keyEnv: "sk-live" } }), /the name of an environment variable/);
  });

  it("adds the named models, and requires names if there are many", async (t) => {
    const url = await serverOf(t, () => list(...Array.from({ length: 51 }, (_, number) => `m${number}`)));
    const { written } = await add(`${url}/v1`, { options: { yes: true, model: ["m50", "m3"] } });
    assert.deepEqual(written, entry("local", { baseUrl: `${url}/v1`, models: [{ id: "m50" }, { id: "m3" }] }));
    await assert.rejects(
      add(`${url}/v1`),
      /the server has 51 models; choose some .*\n  m0\n[^]*\nNext: .* --model <id>/,
    );
    await assert.rejects(add(`${url}/v1`, { options: { model: ["m9", "nope"] } }), /has no model nope; it has:\n  m0/);
  });

  it("asks for confirmation, and writes nothing without a yes", async (t) => {
    const url = await serverOf(t, () => list("a"));
    assert.equal((await add(`${url}/v1`, { options: {}, typed: "y" })).code, 0);
    const no = await add(`${url}/v1`, { options: {}, typed: "" });
    assert.deepEqual([no.code, no.written, no.notes], [1, undefined, "Nothing was written."]);
    const alone = await add(`${url}/v1`, { options: {} });
    assert.deepEqual([alone.code, alone.written], [1, undefined]);
    assert.match(alone.notes, /"baseUrl"[^]*Nothing was written\.\nNext: repeat the command with --yes$/);
  });

  it("never changes an existing entry", async (t) => {
    const url = await serverOf(t, () => list("a"));
    const parsed = entry("local", { models: [] });
    await assert.rejects(
      add(`${url}/v1`, { parsed }),
      /models\.providers\.local already exists; nothing was changed\nNext: /,
    );
  });

  it("explains errors of the server or its address", async (t) => {
    const answering = (...answer: Answer) => serverOf(t, () => answer);
    for (const [url, expected] of [
      ["acme", /"acme" is not a server address\nNext: svc models add http/],
      ["http://me:pw@127.0.0.1/v1", /--key-env/],
      ["http://127.0.0.1:3/v1", /does not respond: .*ECONNREFUSED.*\nNext: start the server/],
      [`${await answering(404, "no")}/v1`, /returned 404\nNext: use the address before \/chat\/completions/],
      [`${await answering(200, "<html>")}/v1`, /did not return a list of models\nNext: /],
      [`${await answering(...list())}/v1`, /has no models\nNext: /],
    ] as const)
      await assert.rejects(add(url), expected);
  });
});
