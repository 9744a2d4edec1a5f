/** What every provider of `Storage` checks. Imports little of the SDK: a database thread loads it, and every start waits for that. */
export * from "./sqlite-values.ts";
export * from "./statement-text.ts";
export * from "./steps.ts";
export * from "./values.ts";
