/** Update namespace. Spec: protocol/methods-system.md §1; `update.check` and `dryRun` are specific to this gateway. */
import { CONTROL_PLANE_WRITES, defineContract, defineEvent } from "../contract.ts";
import { Strict, Type } from "../schema.ts";
import { KeptNote, PlannedRestart, restartDelay } from "../gateway/restart.ts";

const text = Type.Optional(Type.String());
const Version = Type.Object({ sha: text, version: text });

/** How the gateway is installed; determines how it is updated. */
export const UpdateMode = Type.Enum(["git", "npm", "pnpm", "bun", "unknown"]);

/** One program that was run during an update. */
export const UpdateStep = Type.Object({
  name: Type.String(),
  command: Type.String(),
  cwd: Type.String(),
  durationMs: Type.Integer(),
  exitCode: Type.Union([Type.Integer(), Type.Null()], {
    description: "null: it never started, or was ended by a signal",
  }),
  stdoutTail: text,
  stderrTail: text,
});

/** A version newer than the running one; `null`: none is known. */
export const UpdateAvailable = Type.Union([
  Type.Object({ currentVersion: Type.String(), latestVersion: Type.String(), channel: Type.String() }),
  Type.Null(),
]);

/** Outcome of an update. */
export const UpdateResult = Type.Object({
  status: Type.Enum(["ok", "error", "skipped"]),
  mode: UpdateMode,
  root: text,
  reason: text,
  before: Type.Optional(Version),
  after: Type.Optional(Version),
  steps: Type.Array(UpdateStep),
  durationMs: Type.Integer(),
  plan: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), command: Type.String(), cwd: Type.String() }), {
      description: "for a dry run: the steps an update would take",
    }),
  ),
});

/** Updating the gateway. */
export const update = defineContract("update", {
  run: {
    summary: "Update the gateway and restart it; responds when the update is done, which can take minutes",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict({
      sessionKey: Type.Optional(Type.String({ description: "session that is notified after the restart" })),
      note: Type.Optional(Type.String({ description: "text at the start of the notification" })),
      restartDelayMs: restartDelay,
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 1, description: "milliseconds per step; default 1200000, at least 1000" }),
      ),
      dryRun: Type.Optional(Type.Boolean({ description: "only report what would be done" })),
    }),
    result: Type.Object({
      ok: Type.Boolean({ description: "false only when the status is `error`" }),
      result: UpdateResult,
      restart: Type.Union([PlannedRestart, Type.Null()], { description: "null unless `status` is `ok`" }),
      sentinel: KeptNote,
    }),
  },
  status: {
    summary: "Get what is known about newer versions and the last update, without a check",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      sentinel: Type.Unknown({
        description: "note of the last update.run that this process has carried out without a restart; null: none",
      }),
      updateAvailable: UpdateAvailable,
      effectiveChannel: Type.Enum(["stable", "beta", "dev"]),
      schedule: Type.Object({
        channel: Type.String(),
        autoEnabled: Type.Boolean({ description: "new versions are installed automatically" }),
      }),
    }),
  },
  check: {
    summary: "Check for a newer version",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      mode: UpdateMode,
      updateAvailable: UpdateAvailable,
      checkedAt: Type.Union([Type.Integer(), Type.Null()], {
        description: "epoch ms; null: the check failed",
      }),
      reason: Type.Optional(Type.String({ description: "why the check failed" })),
    }),
  },
});

/** Sent when the result of the check changed. */
export const updateAvailable = defineEvent({
  name: "update.available",
  summary: "A newer version became available, or is no longer available",
  payload: Type.Object({ updateAvailable: UpdateAvailable }),
  local: true,
});
