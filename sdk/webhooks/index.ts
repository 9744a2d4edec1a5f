/** Webhooks: actions, presets, verifiers: `@svc/sdk/webhooks`. */
export * from "./call-transform.ts";
export * from "./contract.ts";
export * from "./service.ts";
export * from "./transforms.ts";
