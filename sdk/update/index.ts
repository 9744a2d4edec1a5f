/** Updates of the gateway: `@svc/sdk/update`. */
export * from "./contract.ts";
