/** What is said of a plugin: its state, and the outcome of a reload. */
import { type DeepReadonly, type Static, Type } from "./schema.ts";

/** State of a plugin as reports show it. */
export const PluginReport = Type.Object({
  id: Type.String(),
  version: Type.String(),
  state: Type.String({ description: "active, disabled, blocked, pending, failed, quarantined, ..." }),
  reason: Type.Optional(Type.String({ description: "why it is not active, and what to do" })),
  asleep: Type.Optional(Type.Boolean({ description: "it is active, and its code is not imported before it is used" })),
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
  deprecated: Type.Optional(
    Type.Array(Type.String(), {
      description: "parts of the plugin API it uses that will go away, and what to use instead",
    }),
  ),
});
export type PluginReport = DeepReadonly<Static<typeof PluginReport>>;

/** The outcome of a reload. */
export const ReloadReport = Type.Object({
  id: Type.String(),
  ok: Type.Boolean({ description: "it is as it should be" }),
  reason: Type.Optional(Type.String()),
  state: Type.String(),
  generation: Type.Integer(),
  rolledBack: Type.Boolean(),
  restarted: Type.Array(Type.String(), { description: "plugins restarted with it" }),
  heldMs: Type.Integer({ description: "milliseconds calls to it were held" }),
});
export type ReloadReport = DeepReadonly<Static<typeof ReloadReport>>;
