/** Health and presence: `@svc/sdk/health`. */
export * from "./contract.ts";
