/** Both tools in a real gateway, called as by an agent's run. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, notFound, outsideOrigin, Type } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { testGateway } from "@svc/sdk/testing";
import { Tool, type ToolResult } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { internet, listen, refused } from "../outbound/scene.ts";
import { markedPart } from "./markers.ts";
import { pluginOf } from "../../plugin-of.ts";

const hands = defineContract("hands", {
  use: {
    summary: "-",
    scope: "operator.read",
    params: Type.Object({ name: Type.String(), args: Type.Unknown() }),
    result: Type.Unknown(),
  },
  list: { summary: "-", scope: "operator.read", params: Type.Object({}), result: Type.Unknown() },
});

/** Owns the extension point of tools in place of its plugin, so that no policy applies. */
const handsPlugin = pluginOf("hands", (gateway) => {
  const tools = gateway.own(Tool);
  gateway.serve(hands, {
    async use({ params: { name, args }, principal, signal }) {
      const tool = tools.get(name)?.value ?? notFound(name);
      const place = { sessionKey: "agent:main:main", agentId: "main" };
      const call = { name, arguments: args as {}, toolCallId: "c", runId: "r", ...place };
      return (await tool.run(args, { call, principal, signal })) as ToolResult; // neither answers with a text alone
    },
    list: () => tools.list().map(({ id }) => id),
  });
});

async function start(
  t: TestContext,
  web: object = {},
  more: readonly (string | ReturnType<typeof definePlugin>)[] = ["outbound"],
) {
  const plugins = ["web", ...more, handsPlugin];
  const { client } = await testGateway(t, { plugins, config: { tools: { web } }, scopes: ["operator.read"] });
  return {
    use: (name: string, args: object) => client.request("hands.use", { name, args }) as Promise<ToolResult>,
    list: () => client.request("hands.list", {}),
  };
}

describe("the web in a gateway", () => {
  it("reads a page through the guard, in a thread", async (t) => {
    const { outbound } = await internet(t, (_, response) => {
      response.setHeader("content-type", "text/html").end("<html><body><h1>Hi</h1><p>there</p></body></html>");
    });
    const open = pluginOf("small-internet", { provides: [OutboundFetch] }, (gateway) =>
      gateway.provide(OutboundFetch, outbound),
    );
    const { use } = await start(t, {}, [open]);
    const result = await use("web_fetch", { url: "http://page.test" });
    assert.equal(markedPart(textOf(result)).inside, "# Hi\n\nthere");
    assert.deepEqual(result.origin, outsideOrigin("web", "http://page.test/"));
  });

  it("does not reach this machine", async (t) => {
    let asked = 0;
    const port = await listen(
      t,
      createServer((_, response) => {
        asked += 1;
        response.end();
      }),
    );
    const { use } = await start(t);
    await assert.rejects(use("web_fetch", { url: `http://localhost:${port}/` }), refused("ADDRESS_NOT_PUBLIC"));
    assert.equal(asked, 0);
  });

  it("asks the instance of the operator, wherever it is", async (t) => {
    const port = await listen(
      t,
      createServer((_, response) => {
        response.end(JSON.stringify({ results: [{ title: "Found", url: "https://found.test/", content: "it" }] }));
      }),
    );
    const { use } = await start(t, {
      search: { provider: "searxng", searxng: { baseUrl: `http://127.0.0.1:${port}` } },
    });
    const result = await use("web_search", { query: "x" });
    assert.match(markedPart(textOf(result)).inside, /^1\. Found\n/);
    assert.equal((result.details as { provider?: unknown }).provider, "searxng");
  });

  it("has the tools that are switched on", async (t) => {
    assert.deepEqual(await (await start(t)).list(), ["web_search", "web_fetch"]);
    const off = { search: { enabled: false }, fetch: { enabled: false } };
    assert.deepEqual(await (await start(t, off)).list(), []);
  });
});
