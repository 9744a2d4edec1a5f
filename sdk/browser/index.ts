/** Control of a browser: `@svc/sdk/browser`. */
export * from "./contract.ts";
