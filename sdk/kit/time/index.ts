/** Spans, sizes, local times and days: `@svc/kit/time`. */
export * from "./durations.ts";
export * from "./local-time.ts";
