/** Sessions and transcripts: `@svc/sdk/sessions`. */
export * from "./contract.ts";
export * from "./service.ts";
export * from "./watch.ts";
