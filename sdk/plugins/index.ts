/** The plugins of this gateway: `@svc/sdk/plugins`. */
export * from "../plugin-report.ts";
export * from "./contract.ts";
export * from "./service.ts";
