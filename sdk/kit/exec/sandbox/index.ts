/** A sandbox for programs started for agents. */
export * from "./argv.ts";
export * from "./doctor.ts";
export * from "./find.ts";
export * from "./mounts.ts";
export * from "./rules.ts";
export * from "./sandbox.ts";
export * from "./system.ts";
