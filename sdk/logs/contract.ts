/** Logs namespace. Spec: protocol/methods-logs.md; `level`, `subsystem` and `part` are choices. */
import { defineContract } from "../contract.ts";
import { Strict, Type } from "../schema.ts";

/** Least level of lines; lines without one are left out. */
export const LogLevelParam = Type.Enum(["trace", "debug", "info", "warn", "error", "fatal"]);

/** The log of the gateway. */
export const logs = defineContract("logs", {
  tail: {
    summary: "The last lines of the log, or those since a cursor",
    scope: "operator.read",
    params: Strict({
      cursor: Type.Optional(Type.Integer({ minimum: 0, description: "of the last answer; default: from the end" })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5_000, description: "lines; default 500" })),
      maxBytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: "default 250000" })),
      level: Type.Optional(LogLevelParam),
      subsystem: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: "plugin id; `host`: lines of no plugin" }),
      ),
      part: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: "of the last answer: read on, file by file, and leave nothing out; cursor is where that ended",
        }),
      ),
    }),
    result: Type.Object({
      file: Type.String({ minLength: 1, description: "path that was read" }),
      cursor: Type.Integer({ minimum: 0 }),
      size: Type.Integer({ minimum: 0, description: "bytes" }),
      lines: Type.Array(Type.String()),
      truncated: Type.Boolean({ description: "older bytes were skipped" }),
      reset: Type.Boolean({ description: "the cursor could not be used: the lines do not follow the former ones" }),
      part: Type.Optional(Type.String({ description: "the file, whatever it is renamed to" })),
    }),
  },
});
