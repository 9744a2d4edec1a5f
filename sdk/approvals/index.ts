/** Approvals, and the commands that people allowed: `@svc/sdk/approvals`. */
export * from "./contract.ts";
export * from "./exec-schema.ts";
export * from "./service.ts";
