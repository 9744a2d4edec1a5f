/** Durations, sizes, local times and days, deadlines and signals: `@svc/kit/time`. */
export * from "./any-signal.ts";
export * from "./deadline.ts";
export * from "./durations.ts";
export * from "./local-time.ts";
