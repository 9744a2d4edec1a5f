/** Running commands by what people allowed: `@svc/sdk/exec`. For whoever runs commands, on the gateway's machine or a node. */
export * from "./plan.ts";
export * from "./policy.ts";
export * from "./policy-file.ts";
export * from "./schema.ts";
