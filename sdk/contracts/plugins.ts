/** Plugins namespace. Choice: ours; the interface document has none for plugins. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

/** State of one plugin. */
export const PluginRow = Type.Object({
  id: Type.String(),
  version: Type.String(),
  state: Type.String({ description: "active, disabled, blocked, pending, failed, quarantined, ..." }),
  reason: Type.Optional(Type.String({ description: "why it is not active, and what to do" })),
  retryAt: Type.Optional(Type.Integer({ description: "epoch ms of the gateway's own next attempt" })),
  generation: Type.Integer({ description: "how often it was set up" }),
  placement: Type.Optional(Type.Enum(["host", "worker", "process"], { description: "where its code runs" })),
  blame: Type.Optional(
    Type.Object(
      { at: Type.Integer({ description: "epoch ms" }), where: Type.String(), message: Type.String() },
      { description: "the last failure that was charged to it" },
    ),
  ),
  importMs: Type.Optional(Type.Integer()),
  setupMs: Type.Optional(Type.Integer()),
  startMs: Type.Optional(Type.Integer()),
  errors: Type.Integer({ description: "errors charged to it since the start" }),
  inert: Type.Array(Type.String(), { description: "what it declared that does nothing now" }),
});

const Reloaded = Type.Object({
  id: Type.String(),
  ok: Type.Boolean({ description: "it is as it should be" }),
  reason: Type.Optional(Type.String()),
  state: Type.String(),
  generation: Type.Integer(),
  rolledBack: Type.Boolean(),
  restarted: Type.Array(Type.String(), { description: "plugins restarted with it" }),
  heldMs: Type.Integer({ description: "milliseconds calls to it were held" }),
});

/** See and reload the plugins of the running gateway. */
export const plugins = defineContract("plugins", {
  list: {
    summary: "All plugins, their state and why one is not active",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ plugins: Type.Array(PluginRow) }),
  },
  reload: {
    summary: "Load a plugin's code anew without a restart",
    scope: "operator.admin",
    params: Strict({ id: NonEmpty }),
    result: Reloaded,
  },
  align: {
    summary: "Take over what was installed, removed or switched since, without a restart",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ changed: Type.Array(Reloaded) }),
  },
});
