/** Hooks that the owner of models emits. */
import { kept } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";
import type { ModelRequest } from "./service.ts";

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const modelHooks = {
  modelRequest: defineHook<ModelRequest>()("waterfall", {
    name: "modelRequest",
    owner: "models",
    when: "A request is about to go to a model provider.",
    returns: "The request to send instead.",
    throws: kept,
  }),
} as const;
