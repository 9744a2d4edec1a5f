/** The log and its files: `@svc/sdk/logs`. */
export * from "./contract.ts";
export * from "./log-files.ts";
