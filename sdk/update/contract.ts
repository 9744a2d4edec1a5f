/** Update namespace. Spec: protocol/methods-system.md §1; `update.check` and `dryRun` are ours. */
import { CONTROL_PLANE_WRITES, defineContract, defineEvent } from "../contract.ts";
import { Strict, Type } from "../schema.ts";
import { KeptNote, PlannedRestart, restartDelay } from "../gateway/restart.ts";

const text = Type.Optional(Type.String());
const Version = Type.Object({ sha: text, version: text });

/** How the gateway is installed, which decides what an update is. */
export const UpdateMode = Type.Enum(["git", "npm", "pnpm", "bun", "unknown"]);

/** One program that was run for an update. */
export const UpdateStep = Type.Object({
  name: Type.String(),
  command: Type.String(),
  cwd: Type.String(),
  durationMs: Type.Integer(),
  exitCode: Type.Union([Type.Integer(), Type.Null()], { description: "null: it never started, or a signal ended it" }),
  stdoutTail: text,
  stderrTail: text,
});

/** A newer version than the one that runs; `null`: there is none that is known. */
export const UpdateAvailable = Type.Union([
  Type.Object({ currentVersion: Type.String(), latestVersion: Type.String(), channel: Type.String() }),
  Type.Null(),
]);

/** What became of an update. */
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
      description: "of a dry run: what an update would do",
    }),
  ),
});

/** Bring the gateway up to date. */
export const update = defineContract("update", {
  run: {
    summary: "Bring the gateway up to date and restart it; answers when that is done, which can take minutes",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict({
      sessionKey: Type.Optional(Type.String({ description: "session that is told after the restart" })),
      note: Type.Optional(Type.String({ description: "what it is told first" })),
      restartDelayMs: restartDelay,
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 1, description: "milliseconds each step may take; default 1200000, at least 1000" }),
      ),
      dryRun: Type.Optional(Type.Boolean({ description: "only look, and say what would be done" })),
    }),
    result: Type.Object({
      ok: Type.Boolean({ description: "false only when the status is `error`" }),
      result: UpdateResult,
      restart: Type.Union([PlannedRestart, Type.Null()], { description: "null unless the status is `ok`" }),
      sentinel: KeptNote,
    }),
  },
  check: {
    summary: "Ask whether there is a newer version",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      mode: UpdateMode,
      updateAvailable: UpdateAvailable,
      checkedAt: Type.Union([Type.Integer(), Type.Null()], {
        description: "epoch ms; null: it could not be found out",
      }),
      reason: Type.Optional(Type.String({ description: "why not" })),
    }),
  },
});

/** Sent when the answer changed. */
export const updateAvailable = defineEvent({
  name: "update.available",
  summary: "There is a newer version, or there is none any more",
  payload: Type.Object({ updateAvailable: UpdateAvailable }),
});
