/** The control panel, and what plugins add to it: `@svc/sdk/panel`. */
export * from "./contract.ts";
export * from "./service.ts";
