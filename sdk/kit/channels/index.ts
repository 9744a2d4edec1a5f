/** Configuration of chat channels: `@svc/kit/channels`. */
export * from "./account-config.ts";
