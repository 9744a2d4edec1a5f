/** Spans, sizes, local times and days, and deadlines: `@svc/kit/time`. */
export * from "./deadline.ts";
export * from "./durations.ts";
export * from "./local-time.ts";
