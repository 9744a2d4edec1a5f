/** Hooks emitted by the owner of nodes. */
import { never, recorded } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const nodeHooks = {
  nodeConnected: defineHook<{ readonly nodeId: string; readonly connectionId: string }>()("observe", {
    name: "nodeConnected",
    owner: "nodes",
    when: "A node is connected and can be invoked.",
    returns: never,
    throws: recorded,
  }),
  nodeSpoke: defineHook<{ readonly nodeId: string; readonly sessionKey: string }>()("observe", {
    name: "nodeSpoke",
    owner: "nodes",
    when: "A node sent what a person said (`voice.transcript`), before its run starts. Repeated transcripts are left out.",
    returns: never,
    throws: recorded,
  }),
} as const;
