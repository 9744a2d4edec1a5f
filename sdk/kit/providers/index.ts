/** For plugins that call model servers: requests, bounded answers and lists, and failure messages for people: `@svc/kit/providers`. */
export * from "./answer-size.ts";
export * from "./answers.ts";
export * from "./calls.ts";
export * from "./claude-thinking.ts";
export * from "./clients.ts";
export * from "./configured.ts";
export * from "./event-stream.ts";
export * from "./failures.ts";
export * from "./history.ts";
export * from "./known-servers.ts";
export * from "./model-list.ts";
export * from "./request.ts";
export * from "./sentences.ts";
