/** Documents that are read for a model: `@svc/sdk/media`. */
export * from "./service.ts";
