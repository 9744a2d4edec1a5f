/** Reading documents for models: `@svc/sdk/media`. */
export * from "./service.ts";
