/** Secrets and where they come from: `@svc/sdk/secrets`. */
export * from "./contract.ts";
export * from "./service.ts";
