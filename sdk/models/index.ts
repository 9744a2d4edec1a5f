/** Language models, their providers and messages: `@svc/sdk/models`. */
export * from "./contract.ts";
export * from "./defaults.ts";
export * from "./facts.ts";
export * from "./messages.ts";
export * from "./service.ts";
