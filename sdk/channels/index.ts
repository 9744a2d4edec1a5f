/** Chat networks, and messages sent to them: `@svc/sdk/channels`. */
export * from "./contract.ts";
export * from "./delivery.ts";
export * from "./service.ts";
