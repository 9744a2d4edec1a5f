/** For plugins that call model servers: bounded answers, and failure messages for people: `@svc/kit/providers`. */
export * from "./answer-size.ts";
export * from "./event-stream.ts";
export * from "./failures.ts";
