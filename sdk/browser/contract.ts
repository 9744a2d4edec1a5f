/** Browser namespace. Spec: §4.1 row "Browser"; protocol/methods-browser.md. */
import { defineContract } from "../contract.ts";
import { Type } from "../schema.ts";

/** Control of a browser on the gateway or on a node. */
export const browser = defineContract("browser", {
  request: {
    summary: "Call a route of the browser control, e.g. GET /tabs",
    scope: "operator.write",
    params: Type.Object({
      method: Type.Optional(Type.Unknown({ description: "GET, POST or DELETE, in any case" })),
      path: Type.Optional(Type.Unknown({ description: "route" })),
      query: Type.Optional(Type.Unknown({ description: "object" })),
      body: Type.Optional(Type.Unknown()),
      timeoutMs: Type.Optional(Type.Unknown({ description: "milliseconds, for a browser of a node" })),
    }),
    result: Type.Unknown({ description: "JSON of the route" }),
  },
});
