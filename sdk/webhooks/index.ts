/** Webhooks: actions, presets, verifiers: `@svc/sdk/webhooks`. */
export * from "./contract.ts";
export * from "./service.ts";
