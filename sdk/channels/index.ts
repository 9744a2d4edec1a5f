/** Chat networks, and messages sent to them: `@svc/sdk/channels`. */
export * from "./access.ts";
export * from "./account-state.ts";
export * from "./contract.ts";
export * from "./delivery.ts";
export * from "./inbound.ts";
export * from "./login.ts";
export * from "./service.ts";
