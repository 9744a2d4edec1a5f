/** The plugins of this gateway: `@svc/sdk/plugins`. */
export * from "./contract.ts";
export * from "./service.ts";
