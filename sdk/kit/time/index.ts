/** Durations, sizes, local times and days, deadlines, signals and limits of concurrent work: `@svc/kit/time`. */
export * from "./any-signal.ts";
export * from "./deadline.ts";
export * from "./durations.ts";
export * from "./local-time.ts";
export * from "./retry-after.ts";
export * from "./slots.ts";
