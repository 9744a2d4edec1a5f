/** The chat of a client: `@svc/sdk/chat`. */
export * from "./contract.ts";
export * from "./watch.ts";
