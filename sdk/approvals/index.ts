/** Approvals, and the commands that were approved: `@svc/sdk/approvals`. */
export * from "./contract.ts";
export * from "./exec-schema.ts";
export * from "./forward.ts";
export * from "./service.ts";
