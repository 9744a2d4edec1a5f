/** Ways to call a method, and plugins that provide those that no plugin of the bundle has. */
import { defineContract, definePlugin, type Method, type Principal, SCOPES, Type } from "@svc/sdk";
import { methods } from "./samples.ts";

const Named = Type.Object({ name: Type.String() });

/** Calls any method for its caller (`call`), and for an invented principal (`forge`). */
export const relay = defineContract("relay", {
  call: { summary: "-", scope: "none", role: "any", params: Named, result: Type.Unknown() },
  forge: { summary: "-", scope: "none", role: "any", params: Named, result: Type.Unknown() },
});

/** Path of the route that calls a method over HTTP. */
export const routeOf = (name: string) => `/plugins/relay/${name}`;

/** Serves `relay`, and each method as a route with the scope of the method. */
export const relayPlugin = definePlugin({
  id: "relay",
  api: "^1.0.0",
  setup(gateway) {
    // Invalid params: they are checked after the scope, so nothing is done and the refusal shows how far the call got.
    const call = (name: string, principal: Principal) =>
      gateway.call(methods[name] as Method, [] as never, { principal });
    gateway.serve(relay, {
      call: ({ params, principal }) => call(params.name, principal),
      forge: ({ params, principal }) => call(params.name, { ...principal, scopes: [...SCOPES] }),
    });
    for (const { name, scope } of Object.values(methods)) {
      gateway.route({
        method: "POST",
        path: routeOf(name),
        auth: "gateway",
        scope: scope === "none" ? "operator.read" : scope,
        summary: "-",
        handler: async ({ principal }) => ({ body: (await call(name, principal as Principal)) as object }),
      });
    }
  },
});
