/** Tools: which there are, who may use which, and calling them. */
import { definePlugin, HOOKS } from "@svc/sdk";
import { Tool, Tools, ToolSource } from "@svc/sdk/services";
import { ToolShelf } from "./shelf.ts";
import { ToolBox } from "./tool-box.ts";

export default definePlugin({
  id: "tools",
  api: "^1.0.0",
  provides: [Tools],

  setup(gateway) {
    const { log } = gateway;
    const tools = gateway.own(Tool);
    const shelf = new ToolShelf({ tools, sources: gateway.own(ToolSource), judge: (all) => all, log });
    const hooks = {
      params: gateway.emits(HOOKS.toolParams),
      before: gateway.emits(HOOKS.toolBefore),
      result: gateway.emits(HOOKS.toolResult),
    };
    gateway.provide(Tools, new ToolBox({ shelf, tools, hooks, log }));
  },
});
