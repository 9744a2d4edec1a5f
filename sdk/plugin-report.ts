/** Reports about plugins: their state, and the outcome of a reload. */
import { type DeepReadonly, type Static, Type } from "./schema.ts";

/** State of a plugin. */
export const PluginReport = Type.Object({
  id: Type.String(),
  version: Type.String(),
  state: Type.String({ description: "active, disabled, blocked, pending, failed, quarantined, ..." }),
  reason: Type.Optional(Type.String({ description: "why the plugin is not active, and what to do" })),
  asleep: Type.Optional(Type.Boolean({ description: "the plugin is active, but its code is imported on first use" })),
  retryAt: Type.Optional(Type.Integer({ description: "epoch ms of the next automatic attempt" })),
  generation: Type.Integer({ description: "number of times it was set up" }),
  placement: Type.Optional(Type.Enum(["host", "worker", "process"], { description: "where its code runs" })),
  blame: Type.Optional(
    Type.Object(
      { at: Type.Integer({ description: "epoch ms" }), where: Type.String(), message: Type.String() },
      { description: "last failure attributed to the plugin" },
    ),
  ),
  importMs: Type.Optional(Type.Integer()),
  setupMs: Type.Optional(Type.Integer()),
  startMs: Type.Optional(Type.Integer()),
  errors: Type.Integer({ description: "errors attributed to the plugin since the start" }),
  inert: Type.Array(Type.String(), { description: "declarations that currently have no effect" }),
  deprecated: Type.Optional(
    Type.Array(Type.String(), {
      description: "deprecated parts of the plugin API it uses, and what to use instead",
    }),
  ),
});
export type PluginReport = DeepReadonly<Static<typeof PluginReport>>;

/** Outcome of a reload. */
export const ReloadReport = Type.Object({
  id: Type.String(),
  ok: Type.Boolean({ description: "the plugin is in its intended state" }),
  reason: Type.Optional(Type.String()),
  state: Type.String(),
  generation: Type.Integer(),
  rolledBack: Type.Boolean(),
  restarted: Type.Array(Type.String(), { description: "plugins restarted with it" }),
  heldMs: Type.Integer({ description: "milliseconds for which calls to it were held" }),
});
export type ReloadReport = DeepReadonly<Static<typeof ReloadReport>>;
