/** Outbound requests and web search: `@svc/sdk/web`. */
export * from "./outbound.ts";
export * from "./search.ts";
