/** Tools of agents: `@svc/sdk/tools`. */
export * from "./contract.ts";
export * from "./policy.ts";
export * from "./sandbox.ts";
export * from "./service.ts";
