/** No client of a model server takes credentials or prompts to another origin because the server says so. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { ProviderAccount } from "@svc/sdk/models";
import { createProvider as createOwn } from "../../plugins/dev/new/templates/provider/provider.ts";
import { askForModels } from "../../plugins/models/verbs/server-models.ts";
import { createConverseApi } from "../../plugins/provider-bedrock/api.ts";
import { createProvider as createConverse } from "../../plugins/provider-bedrock/provider.ts";
import { createGeminiApi } from "../../plugins/provider-google/api.ts";
import { createProvider as createGemini } from "../../plugins/provider-google/provider.ts";
import { createMessagesApi } from "../../plugins/provider-anthropic/api.ts";
import { createProvider as createMessages } from "../../plugins/provider-anthropic/provider.ts";
import { createClients } from "../../plugins/provider-openai/clients.ts";
import { createProvider as createChat } from "../../plugins/provider-openai/provider.ts";
import { createResponsesProvider } from "../../plugins/provider-openai/responses/provider.ts";

const KEY = "sk-canary";
const clock = { now: () => 0 };

interface Server {
  readonly url: string;
  readonly seen: { readonly line: string; readonly key: unknown; readonly body: string }[];
}

async function serve(t: TestContext, answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<Server> {
  const seen: Server["seen"] = [];
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += String(part);
    seen.push({ line: `${req.method} ${req.url}`, key: req.headers["x-custom"], body });
    answer(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

type Provider = ReturnType<typeof createChat>;
const asking = (provider: Provider) => async (baseUrl: string) => {
  const account: ProviderAccount = { name: "acme", baseUrl, apiKey: KEY, headers: { "x-custom": KEY } };
  const model = { provider: "acme", id: "m", name: "M", api: "x" };
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: "a secret" }], timestamp: 1 }];
  const request = { model, system: "", messages, tools: [], maxAnswerChars: 10_000 };
  for await (const event of provider.stream(request, account, new AbortController().signal)) void event;
};

const listing = (provider: Provider) => async (baseUrl: string) => {
  const account: ProviderAccount = { name: "acme", baseUrl, apiKey: KEY, headers: { "x-custom": KEY } };
  await provider.listModels?.(account, new AbortController().signal);
};

const ENV = { AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: KEY, AWS_SESSION_TOKEN: KEY, AWS_REGION: "eu-west-1" };
const providers: Readonly<Record<string, Provider>> = {
  "provider-openai": createChat(createClients({ clock })),
  "provider-openai (responses)": createResponsesProvider(createClients({ clock })),
  "provider-anthropic": createMessages(createMessagesApi({ clock, env: {} })),
  "provider-google": createGemini(createGeminiApi({ clock })),
  "provider-bedrock": createConverse(createConverseApi({ clock, env: ENV })),
};

const clients: Readonly<Record<string, (baseUrl: string) => Promise<unknown>>> = {
  ...Object.fromEntries(Object.entries(providers).map(([name, provider]) => [name, asking(provider)])),
  ...Object.fromEntries(Object.entries(providers).map(([name, provider]) => [`${name}, models`, listing(provider)])),
  "a provider made by svc plugins new": asking(createOwn({ clock })),
  "svc models add": (baseUrl) => askForModels(baseUrl, KEY),
};

for (const [name, ask] of Object.entries(clients)) {
  describe(`redirects and ${name}`, { timeout: 120_000 }, () => {
    for (const status of [301, 302, 303, 307, 308]) {
      it(`refuses a ${status} to another origin and names both addresses`, async (t) => {
        const other = await serve(t, (_req, res) => res.end());
        const location = other.url.replace("//", "//user:pw@");
        const server = await serve(t, (_req, res) => res.writeHead(status, { location: `${location}/v1?key=x` }).end());
        const base = server.url.replace("127.0.0.1", "localhost");
        const error = await ask(`${base}/v1`).then(
          () => assert.fail("it answered"),
          (thrown: Error) => thrown,
        );
        assert.match(error.message, new RegExp(`${base} redirects to ${other.url} `, "u"));
        assert.doesNotMatch(error.message, /pw|sk-canary|key=x/u);
        assert.deepEqual(other.seen, []);
      });
    }

    it("follows a 307 within the origin, with what was asked, five times at most", async (t) => {
      const server = await serve(t, (_req, res) => res.writeHead(307, { location: "/elsewhere" }).end());
      await assert.rejects(ask(`${server.url}/v1`), /redirects more than 5 times/u);
      assert.equal(server.seen[1]?.line, server.seen[0]?.line.replace(/\/v1.*/u, "/elsewhere"));
      assert.deepEqual([server.seen[1]?.key, server.seen[1]?.body], [server.seen[0]?.key, server.seen[0]?.body]);
    });
  });
}
