/** A body that does not come is answered: the route of the plugin on the host's HTTP handler, with a shorter limit. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { type PluginGateway, type RouteSpec } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../../host/auth/access.ts";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import type { LiveRoute } from "../../../host/kernel/kinds/routes.ts";
import { Table } from "../../../host/kernel/table.ts";
import { createHttpHandler } from "../../../host/net/http/handler.ts";
import plugin from "../../../plugins/http-tools/plugin.ts";
import { silentLog } from "../agents/silent-log.ts";
import { fakeOwner } from "../../host/hooks/fake-owner.ts";
import { exchange } from "../../host/net/http-exchange.ts";

it("a body that does not come within the limit is 408", async (t) => {
  const routes: RouteSpec[] = [];
  const gateway = { services: {}, route: (route: RouteSpec) => void routes.push(route) };
  await plugin.setup(gateway as unknown as PluginGateway<unknown, {}, {}>); // all that it touches before a request is whole

  const hooks = new HookBus();
  const mounted = new Table<LiveRoute>();
  const owner = fakeOwner("http-tools", 0);
  for (const route of routes) mounted.add(`${route.method} ${route.path}`, { route, owner });
  const access = new Access({ mode: "none" }, {}, 18_789, createFakeClock());
  const server = createServer(
    createHttpHandler({
      routes: mounted,
      hooks,
      log: silentLog,
      access,
      readiness: () => ({ isStopping: false, missing: [] }),
      bodyTimeoutMs: 50,
    }).handle,
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  const { port } = server.address() as AddressInfo;
  assert.equal((await fetch(`http://127.0.0.1:${port}/tools/invoke`)).status, 405); // HTTP is loaded by the first request
  const headers = { "Content-Length": "10" };
  const { status, body, closed } = await exchange(port, {
    method: "POST",
    target: "/tools/invoke",
    headers,
    body: "{",
  });
  assert.deepEqual([status, closed], [408, true]);
  assert.equal(body, '{"error":{"message":"Request body timeout","type":"invalid_request_error"}}');
});
