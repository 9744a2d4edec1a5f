/** Push messages to phones: `@svc/sdk/push`. */
export * from "./contract.ts";
