/** Guided setup in typed steps: `@svc/sdk/wizard`. */
export * from "./contract.ts";
export * from "./service.ts";
