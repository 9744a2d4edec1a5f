/** Logs namespace. Spec: protocol/methods-logs.md; `level`, `subsystem`, `text`, `part`, `before` and `begin` are choices. */
import { defineContract } from "../contract.ts";
import { Strict, Type } from "../schema.ts";

/** Numbers of the levels in the lines of the log, lowest first. */
export const LOG_LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
export type LogLevel = keyof typeof LOG_LEVELS;

/** Minimum level of the returned lines; lines without a level are omitted. */
export const LogLevelParam = Type.Enum(Object.keys(LOG_LEVELS) as LogLevel[]);

/** The log of the gateway. */
export const logs = defineContract("logs", {
  tail: {
    summary: "Get the last lines of the log, or the lines after a cursor",
    scope: "operator.read",
    params: Strict({
      cursor: Type.Optional(
        Type.Integer({ minimum: 0, description: "cursor of the previous response; default: the end of the log" }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5_000, description: "lines; default 500" })),
      maxBytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: "bytes; default 250000" })),
      level: Type.Optional(LogLevelParam),
      subsystem: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: "plugin id; `host`: lines that belong to no plugin" }),
      ),
      text: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: "only lines with this text; case does not matter" }),
      ),
      before: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            "`begin` of a previous response: the last lines before it, in the file `part`; 0: of the next older file. Excludes `cursor`",
        }),
      ),
      part: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: "part of the previous response: continue file by file without gaps, from the cursor",
        }),
      ),
    }),
    result: Type.Object({
      file: Type.String({ minLength: 1, description: "path of the file that was read" }),
      cursor: Type.Integer({ minimum: 0 }),
      size: Type.Integer({ minimum: 0, description: "bytes" }),
      lines: Type.Array(Type.String()),
      truncated: Type.Boolean({ description: "older lines were skipped" }),
      reset: Type.Boolean({ description: "the cursor was unusable: the lines do not continue the previous ones" }),
      begin: Type.Optional(
        Type.Integer({
          description: "where the first line that was read begins, for `before`; absent: nothing older to read",
        }),
      ),
      part: Type.Optional(Type.String({ description: "identifies the file even after it is renamed" })),
    }),
  },
});
