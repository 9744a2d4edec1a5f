/** Search in the memory of agents: `@svc/sdk/memory`. */
export * from "./contract.ts";
export * from "./settings.ts";
