/** Config namespace. Spec: §4.1 row "Config"; params and results: protocol/methods-config.md. */
import { defineContract } from "../contract.ts";
import { Strict, Type } from "../schema.ts";

const Issue = Type.Object({ path: Type.String(), message: Type.String() });

/** Read the configuration and its schema. */
export const config = defineContract("config", {
  get: {
    summary: "The configuration file as read, redacted",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      path: Type.String(),
      exists: Type.Boolean(),
      raw: Type.Union([Type.String(), Type.Null()]),
      parsed: Type.Unknown(),
      resolved: Type.Unknown(),
      valid: Type.Boolean(),
      config: Type.Unknown(),
      hash: Type.String({ description: "SHA-256 of the file's text, hex; of the empty string when there is no file" }),
      issues: Type.Array(Issue),
      warnings: Type.Array(Issue),
      legacyIssues: Type.Array(Issue),
    }),
  },
  schema: {
    summary: "JSON Schema of the whole configuration, plugins included",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      schema: Type.Unknown(),
      uiHints: Type.Record(Type.String(), Type.Unknown()),
      version: Type.String(),
      generatedAt: Type.String({ description: "ISO time" }),
    }),
  },
});
