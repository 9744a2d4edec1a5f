/** Hooks emitted by the owner of models. */
import { kept } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";
import type { ModelRequest } from "./service.ts";

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const modelHooks = {
  modelRequest: defineHook<ModelRequest>()("waterfall", {
    name: "modelRequest",
    owner: "models",
    when: "A request is about to be sent to a model provider.",
    returns: "A replacement request.",
    throws: kept,
  }),
} as const;
