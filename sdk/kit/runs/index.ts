/** Runs that callers wait for: their steps, their end, and replies without content: `@svc/kit/runs`. */
export * from "./acknowledgement.ts";
export * from "./asked-runs.ts";
export * from "./end-of-run.ts";
export * from "./reply-text.ts";
export * from "./silence.ts";
export * from "./speech-tags.ts";
