/** Secrets and their sources: `@svc/sdk/secrets`. */
export * from "./contract.ts";
export * from "./service.ts";
