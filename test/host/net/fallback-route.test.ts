/** Fallback routes: they serve what nobody else serves, and never hide another route, its 405 or a probe. */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { definePlugin, notFound, type RouteReply, type RouteRequest, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";

type Handler = (request: RouteRequest<unknown>) => RouteReply;

function fallbackPlugin(id: string, path: string, handler: Handler) {
  return definePlugin({
    id,
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.route({ method: "GET", path, auth: "plugin", isFallback: true, summary: "everything else", handler }),
  });
}

const shop = definePlugin({
  id: "shop",
  api: "^1.0.0",
  setup(gateway) {
    const route = { auth: "plugin", summary: "shop" } as const;
    gateway.route({ ...route, method: "GET", path: "/plugins/shop/items/:id", handler: () => ({ body: "item" }) });
    gateway.route({
      ...route,
      method: "POST",
      path: "/plugins/shop/orders",
      body: Type.Object({}),
      handler: () => ({}),
    });
  },
});

async function open(t: TestContext, ...fallbacks: ReturnType<typeof fallbackPlugin>[]) {
  const { gateway } = await testGateway(t, { plugins: [...fallbacks, shop] }); // before the routes that they must not hide
  const address = gateway.url.replace(/^ws/, "http");
  return (path: string, method = "GET") => fetch(address + path, { method });
}

it("serves what no other route serves, with the path and without params", async (t) => {
  const page = fallbackPlugin("page", "/plugins/page/*rest", ({ path, params, method }) => ({
    body: { path, params, method },
  }));
  const ask = await open(t, page);
  assert.deepEqual(await (await ask("/plugins/page/a")).json(), { path: "/plugins/page/a", params: {}, method: "GET" });
  assert.equal((await ask("/plugins/page/a", "HEAD")).status, 200);
  assert.equal(await (await ask("/plugins/shop/items/1")).text(), "item");
  assert.equal((await ask("/healthz")).headers.get("content-type")?.startsWith("application/json"), true);
  assert.equal((await ask("/plugins/shop/orders")).status, 405);
  assert.equal((await ask("/plugins/page/a", "POST")).status, 404);
  assert.equal((await ask("/plugins/page/b%2fc")).status, 400);
});

it("serves nothing outside of its own path", async (t) => {
  const ask = await open(
    t,
    fallbackPlugin("page", "/plugins/page/*rest", () => ({ body: "page" })),
  );
  for (const path of ["/", "/plugins/other/x", "/plugins/page"]) assert.equal((await ask(path)).status, 404, path);
});

it("leaves a request that it refuses to the gateway's own 404", async (t) => {
  const none = fallbackPlugin("page", "/plugins/page/*rest", () => notFound("not mine"));
  const some = fallbackPlugin("page-more", "/plugins/page-more/*rest", ({ path }) =>
    path.endsWith("/yes") ? { body: "some" } : notFound("not mine"),
  );
  const ask = await open(t, none, some);
  assert.equal(await (await ask("/plugins/page-more/yes")).text(), "some");
  for (const path of ["/plugins/page-more/no", "/plugins/page/no"]) {
    const refused = await ask(path);
    assert.equal(refused.status, 404);
    assert.match(await refused.text(), new RegExp(`nothing is served at GET ${path}`));
  }
});

it("answers with the failure of its handler, as any route", async (t) => {
  const broken = fallbackPlugin("broken", "/plugins/broken/*rest", () => {
    throw new TypeError("broken");
  });
  const ask = await open(t, broken);
  assert.equal((await ask("/plugins/broken/x")).status, 500);
});

it("must leave the end of its path open, and nothing else", async (t) => {
  for (const path of ["/plugins/page/exact", "/plugins/page/:id/*rest"]) {
    const { gateway } = await testGateway(t, { plugins: [fallbackPlugin("page", path, () => ({ body: "page" }))] });
    const report = gateway.plugins().find(({ id }) => id === "page");
    assert.match(report?.reason ?? "", /is a fallback, so its path must end with \/\*name/, path);
  }
});
