/** Results of methods that restart the gateway. Spec: protocol/methods-config.md §3. */
import { Type } from "../schema.ts";

/** The restart scheduled by a change, or why there is none. */
export const PlannedRestart = Type.Object({
  ok: Type.Literal(true),
  pid: Type.Integer(),
  signal: Type.Literal("SIGUSR1"),
  delayMs: Type.Integer({ description: "milliseconds until the restart, cooldown included" }),
  reason: Type.String(),
  mode: Type.Literal("emit"),
  coalesced: Type.Boolean(),
  cooldownMsApplied: Type.Integer(),
  scheduled: Type.Boolean({
    description: "false: no restart is scheduled; `reason` says why if one would be needed",
  }),
});

/** Where the note for after the restart is stored; `path: null`: it is not stored. Spec: protocol/stores.md §8. */
export const KeptNote = Type.Object({ path: Type.Union([Type.String(), Type.Null()]), payload: Type.Unknown() });

export const restartDelay = Type.Optional(
  Type.Integer({ minimum: 0, description: "milliseconds; default 2000, at most 60000" }),
);
