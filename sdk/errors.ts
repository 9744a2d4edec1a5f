/** Errors and their catalogs: `@svc/sdk/errors`. */
export * from "./error-codes.ts";
export * from "./gateway-error.ts";
export * from "./nearest-name.ts";
