/** For plugins that speak to model servers: answers within bounds, and failures in words for people: `@svc/kit/providers`. */
export * from "./answer-size.ts";
export * from "./event-stream.ts";
export * from "./failures.ts";
